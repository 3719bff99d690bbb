//! Speed of reading frames without decoding them.
//!
//! Arguments: capture files. Without any, two files are made in the system's folder for temporary files,
//! with two million packets of 96 bytes each, one of pcap and one of pcapng. Prints the best and the median
//! of some runs over each.

#![expect(clippy::print_stdout, reason = "it is what this program is for")]

use fairwind_capture::{
    CaptureReader, CaptureWriter, EndOfFile, Input, Interface, InterfaceId, Next, Section,
};
use fairwind_units::Instant;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant as WallInstant};

const PACKETS: u32 = 2_000_000;
const KEPT_BYTES: u32 = 96;
const LINK_BYTES: u32 = 1_514;
const RUNS: usize = 11;

fn main() -> Result<(), Box<dyn Error>> {
    let mut files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if files.is_empty() {
        let folder = std::env::temp_dir().join("fairwind-read-speed");
        std::fs::create_dir_all(&folder)?;
        files = vec![folder.join("packets.pcap"), folder.join("packets.pcapng")];
        write_pcap(&files[0])?;
        write_pcapng(&files[1])?;
    }
    for file in files {
        measure(&file)?;
    }
    Ok(())
}

fn measure(file: &Path) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::with_capacity(RUNS);
    let (mut frames, mut checksum) = (0, 0_u64);
    for _ in 0..RUNS {
        let (elapsed, count, sum) = read(file)?;
        times.push(elapsed);
        (frames, checksum) = (count, sum);
    }
    times.sort();
    let rate = |time: Duration| f64::from(frames) / time.as_secs_f64() / 1e6;
    println!(
        "{}: {frames} frames, best {:.1}, median {:.1} million a second (checksum {checksum:x})",
        file.display(),
        rate(times[0]),
        rate(times[RUNS / 2])
    );
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "it measures how long something takes")]
fn read(file: &Path) -> Result<(Duration, u32, u64), Box<dyn Error>> {
    let begin = WallInstant::now();
    let mut reader = CaptureReader::open(vec![Input::Path(file.to_owned())], EndOfFile::Final)?;
    let (mut frames, mut checksum) = (0_u32, 0_u64);
    while let Next::Frame(frame) = reader.next() {
        frames += 1;
        let first = frame.bytes.first().copied().unwrap_or_default();
        checksum = checksum.wrapping_add(frame.at.as_nanos() ^ u64::from(first));
    }
    for note in reader.notes() {
        println!("  {note}");
    }
    Ok((begin.elapsed(), frames, checksum))
}

fn write_pcap(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(&0xa1b2_c3d4_u32.to_le_bytes())?;
    file.write_all(&[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0])?;
    file.write_all(&KEPT_BYTES.to_le_bytes())?;
    file.write_all(&1_u32.to_le_bytes())?;
    let bytes = [7; KEPT_BYTES as usize];
    for packet in 0..PACKETS {
        let micros = packet * 10;
        for number in [micros / 1_000_000, micros % 1_000_000, KEPT_BYTES, LINK_BYTES] {
            file.write_all(&number.to_le_bytes())?;
        }
        file.write_all(&bytes)?;
    }
    Ok(file.flush()?)
}

fn write_pcapng(path: &Path) -> Result<(), Box<dyn Error>> {
    let interfaces = vec![Interface::new("sender")];
    let mut capture = CaptureWriter::new(File::create(path)?, &Section::default(), interfaces)?;
    let bytes = [7; KEPT_BYTES as usize];
    for packet in 0..PACKETS {
        let at = Instant::from_nanos(u64::from(packet) * 10_000);
        capture.write_packet(at, InterfaceId(0), &bytes, LINK_BYTES)?;
    }
    capture.finish()?;
    Ok(())
}
