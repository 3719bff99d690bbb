//! Compressed files, streams, files that grow, and folders of rotated files.

use super::files::{Order, Pcap, PcapNg, frames, read, source, try_read};
use fairwind_capture::{Advance, CaptureReader, EndOfFile, Input, Next};
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// An empty folder of this name.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reading").join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// A file with a packet for each of these seconds.
fn pcap(seconds: impl IntoIterator<Item = u32>) -> Vec<u8> {
    let mut file = Pcap::new(Order::Little, Pcap::MICROSECONDS, 65_535);
    for second in seconds {
        file.packet(second, 0, &[0xee; 60]);
    }
    file.bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstandard(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

fn open(paths: &[&Path], ending: EndOfFile) -> CaptureReader {
    let inputs = paths.iter().map(|path| Input::Path(path.to_path_buf())).collect();
    CaptureReader::open(inputs, ending).unwrap()
}

fn seconds(reader: &mut CaptureReader) -> Vec<u64> {
    frames(reader).iter().map(|frame| frame.nanos / 1_000_000_000).collect()
}

fn notes(reader: &CaptureReader) -> Vec<String> {
    reader.notes().iter().map(ToString::to_string).collect()
}

#[test]
fn compressed_files_are_read_as_what_they_were() {
    let file = pcap(1..2_000);
    let plain = read(&file);
    assert_eq!(plain.0.len(), 1_999);
    assert_eq!(read(&gzip(&file)), plain);
    assert_eq!(read(&zstandard(&file)), plain);
}

#[test]
fn doubly_compressed_file_is_refused() {
    let error = try_read(&zstandard(&gzip(&pcap(1..5)))).unwrap_err().to_string();
    assert!(error.contains("is compressed with gzip a second time; unpack it"), "{error}");
}

#[test]
fn compressed_files_may_have_several_members() {
    let file = pcap(1..2_000);
    let plain = read(&file);
    let (one, other) = file.split_at(70_000);
    assert_eq!(read(&[gzip(one), gzip(other)].concat()), plain);
    assert_eq!(read(&[zstandard(one), zstandard(other)].concat()), plain);
    // A frame of zstd to be skipped, with three bytes, in front.
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    assert_eq!(read(&[skipped.as_slice(), &zstandard(&file)].concat()), plain);
}

#[test]
fn truncated_compressed_file_is_read() {
    let file = pcap((1..40_000).map(|second| second * 7 % 3_000));
    for packed in [gzip(&file), zstandard(&file)] {
        let (frames, notes) = read(&packed[..packed.len() / 2]);
        assert!(frames.len() > 1_000, "{} frames", frames.len());
        let failure = "reading failed, and the rest of the file is unread: 1 file, at byte";
        assert!(notes.iter().any(|note| note.starts_with(failure)), "{notes:?}");
    }
}

#[test]
fn gzip_damage_loses_few_earlier_packets() {
    let file = pcap((1..40_000).map(|second| second * 7 % 3_000));
    // Only whole packets, so that what is missing is what was lost.
    let (before, behind) = file.split_at(24 + 20_000 * 76);
    let mut packed = gzip(before);
    packed.truncate(packed.len() - 8);
    packed.extend([0xff; 64]);
    packed.extend(gzip(behind));
    let (frames, notes) = read(&packed);
    assert!(frames.len() > 20_000 - 4096 / 76 - 2, "{} frames, {notes:?}", frames.len());
}

#[test]
fn compressed_foreign_file_is_recognised() {
    let error = try_read(&gzip(b"just some words, line by line\n")).unwrap_err().to_string();
    assert!(error.contains("is text, not a capture"), "{error}");
    let error = try_read(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff]).unwrap_err();
    assert!(error.to_string().starts_with("read the beginning of the capture test: "), "{error}");
}

/// Gives one byte at a time, as a slow pipe does.
struct Slow(std::io::Cursor<Vec<u8>>);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = buffer.len().min(1);
        self.0.read(&mut buffer[..length])
    }
}

#[test]
fn byte_by_byte_stream_is_read() {
    let mut file = PcapNg::new(Order::Big);
    file.interface(1, 0, &[]);
    for second in 1..20 {
        file.packet(0, second * 1_000_000, &[3; 70], 70, &[]);
    }
    for bytes in [pcap(1..20), file.bytes] {
        let slow = Slow(std::io::Cursor::new(bytes));
        let input = Input::Source { name: "pipe".to_owned(), bytes: Box::new(slow) };
        let mut reader = CaptureReader::open(vec![input], EndOfFile::Followed).unwrap();
        assert_eq!(seconds(&mut reader), (1..20).collect::<Vec<_>>());
        assert!(matches!(reader.next(), Next::End));
        assert_eq!(reader.progress().total_bytes, None);
    }
}

#[test]
fn caller_waits_for_empty_stream() {
    /// Has nothing every other time that it is asked.
    struct Halting(Slow, bool);
    impl Read for Halting {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.1 = !self.1;
            if self.1 { self.0.read(buffer) } else { Err(std::io::ErrorKind::WouldBlock.into()) }
        }
    }
    let halting = Halting(Slow(std::io::Cursor::new(pcap(1..4))), false);
    let input = Input::Source { name: "pipe".to_owned(), bytes: Box::new(halting) };
    let mut reader = CaptureReader::open(vec![input], EndOfFile::Final).unwrap();
    let (mut waits, mut packets) = (0, 0);
    loop {
        match reader.next() {
            Next::Frame(_) => packets += 1,
            Next::Wait => waits += 1,
            Next::End => break,
        }
    }
    assert_eq!(packets, 3);
    assert!(waits > 100, "{waits}: every byte was waited for");
    assert_eq!(notes(&reader), Vec::<String>::new());
}

#[test]
fn caller_waits_for_stream_before_another() {
    /// Says so often that it has nothing yet, then the rest.
    struct Late(u32, std::io::Cursor<Vec<u8>>);
    impl Read for Late {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.1.position() == 24 && self.0 > 0 {
                self.0 -= 1;
                return Err(std::io::ErrorKind::WouldBlock.into());
            }
            let length = if self.1.position() == 0 { 24 } else { buffer.len() };
            self.1.read(&mut buffer[..length])
        }
    }
    let late = Late(100, std::io::Cursor::new(pcap(1..3)));
    let late = Input::Source { name: "late".to_owned(), bytes: Box::new(late) };
    let mut reader =
        CaptureReader::open(vec![late, source(&pcap(3..4))], EndOfFile::Final).unwrap();
    assert!(matches!(reader.next(), Next::Wait));
    while matches!(reader.next(), Next::Wait) {}
    assert_eq!(seconds(&mut reader), [2, 3]);
}

#[test]
fn no_frame_bytes_before_first_frame() {
    let path = folder("without-frame").join("growing.pcap");
    std::fs::write(&path, pcap(1..2)).unwrap();
    let mut reader = open(&[&path], EndOfFile::Followed);
    assert_eq!(reader.advance(), Advance::Frame);
    assert_eq!(reader.frame().bytes.len(), 60);
    assert_eq!(reader.advance(), Advance::Wait);
    assert!(reader.frame().bytes.is_empty());
}

#[test]
fn failing_source_is_read_until_failure() {
    struct Failing(std::io::Cursor<Vec<u8>>);
    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(std::io::Error::other("the disk is gone")),
                bytes => Ok(bytes),
            }
        }
    }
    let failing = Failing(std::io::Cursor::new(pcap(1..5)));
    let input = Input::Source { name: "disk".to_owned(), bytes: Box::new(failing) };
    let mut reader = CaptureReader::open(vec![input], EndOfFile::Final).unwrap();
    assert_eq!(seconds(&mut reader), [1, 2, 3, 4]);
    assert_eq!(
        notes(&reader),
        ["reading failed, and the rest of the file is unread: 1 file, \
          at byte 328 of disk (packet 5): the disk is gone"]
    );
}

#[test]
fn files_are_read_in_order_of_packets() {
    let folder = folder("several");
    let paths = [folder.join("a.pcap"), folder.join("b.pcap"), folder.join("c.pcap")];
    for (path, from) in paths.iter().zip([30, 10, 20]) {
        std::fs::write(path, pcap(from..from + 3)).unwrap();
    }
    let mut reader = open(&[&paths[0], &paths[1], &paths[2]], EndOfFile::Final);
    assert_eq!(seconds(&mut reader), [10, 11, 12, 20, 21, 22, 30, 31, 32]);
    assert_eq!(notes(&reader), Vec::<String>::new());
    let place = reader.place();
    assert_eq!(place.to_string(), format!("byte 176 of {} (packet 3)", paths[0].display()));
    let bytes = 3 * (24 + 3 * 76);
    assert_eq!((reader.progress().read_bytes, reader.progress().total_bytes), (bytes, Some(bytes)));
}

#[test]
fn frames_are_numbered_through_all_files() {
    let folder = folder("numbers");
    std::fs::write(folder.join("one"), pcap(1..3)).unwrap();
    std::fs::write(folder.join("two"), pcap(3..5)).unwrap();
    let mut reader = open(&[&folder], EndOfFile::Final);
    let numbers: Vec<_> = frames(&mut reader).iter().map(|it| (it.number, it.offset)).collect();
    assert_eq!(numbers, [(1, 24), (2, 100), (3, 24), (4, 100)]);
}

#[test]
fn folder_is_read_without_foreign_files() {
    let folder = folder("rotated");
    std::fs::write(folder.join("trace2"), pcap(1..3)).unwrap();
    std::fs::write(folder.join("trace0.gz"), gzip(&pcap(5..7))).unwrap();
    std::fs::write(folder.join("trace1.zst"), zstandard(&pcap(3..5))).unwrap();
    std::fs::write(folder.join("notes.txt"), "measured on Monday\n").unwrap();
    std::fs::write(folder.join("empty.pcap"), "").unwrap();
    std::fs::create_dir(folder.join("older")).unwrap();
    std::fs::write(folder.join("older").join("trace"), pcap(100..102)).unwrap();
    let mut damaged = pcap(7..10);
    damaged.truncate(24 + 76 + 10);
    std::fs::write(folder.join("trace3"), damaged).unwrap();
    let mut reader = open(&[&folder], EndOfFile::Final);
    assert_eq!(seconds(&mut reader), [1, 2, 3, 4, 5, 6, 7]);
    let notes = notes(&reader);
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].starts_with("files are not captures and were skipped: 2 files, "));
    assert!(notes[0].contains("empty.pcap: it is empty"), "{}", notes[0]);
    assert!(notes[1].contains("trace3 (packet 2): 10 of at least 16"), "{}", notes[1]);
}

#[test]
fn a_folder_without_captures_is_refused() {
    let folder = folder("nothing");
    std::fs::write(folder.join("notes.txt"), "measured on Monday\n").unwrap();
    let error =
        CaptureReader::open(vec![Input::Path(folder.clone())], EndOfFile::Final).unwrap_err();
    let expected = format!(
        "read the captures in {}: none of its 1 files is a capture; \
         name the folder that pcap or pcapng files are in",
        folder.display()
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn missing_file_is_refused_with_name() {
    let input = Input::named("/nowhere/to/be.pcap");
    let error = CaptureReader::open(vec![input], EndOfFile::Final).unwrap_err().to_string();
    assert!(error.starts_with("open the capture /nowhere/to/be.pcap: No such file"), "{error}");
    let error = CaptureReader::open(Vec::new(), EndOfFile::Final).unwrap_err().to_string();
    assert!(error.starts_with("read a capture: no file is named"), "{error}");
}

#[test]
fn growing_file_is_followed() {
    let mut file = PcapNg::new(Order::Little);
    file.interface(1, 0, &[]);
    for second in 1..8 {
        file.packet(0, second * 1_000_000, &[3; 70], 70, &[]);
    }
    for bytes in [pcap(1..8), file.bytes] {
        let path = folder("growing").join("growing.pcap");
        std::fs::write(&path, "").unwrap();
        let mut writer = OpenOptions::new().append(true).open(&path).unwrap();
        let mut reader = open(&[&path], EndOfFile::Followed);
        let mut read = Vec::new();
        for piece in bytes.chunks(37) {
            read.extend(seconds(&mut reader));
            assert!(matches!(reader.next(), Next::Wait));
            writer.write_all(piece).unwrap();
        }
        read.extend(seconds(&mut reader));
        assert_eq!(read, [1, 2, 3, 4, 5, 6, 7]);
        assert!(matches!(reader.next(), Next::Wait));
        assert_eq!(notes(&reader), Vec::<String>::new());
    }
}

#[test]
fn packets_behind_a_large_block_are_waited_for() {
    let mut file = PcapNg::new(Order::Little);
    file.interface(1, 0, &[]).packet(0, 1_000_000, &[3; 70], 70, &[]);
    // Names of addresses, of which nothing is read.
    let at = file.bytes.len();
    file.block(4, &vec![0; 600_000]);
    let within = at + 550_000;
    file.packet(0, 2_000_000, &[3; 70], 70, &[]);
    let path = folder("large-block").join("growing.pcapng");
    std::fs::write(&path, &file.bytes[..within]).unwrap();
    let mut writer = OpenOptions::new().append(true).open(&path).unwrap();
    let mut reader = open(&[&path], EndOfFile::Followed);
    assert_eq!(seconds(&mut reader), [1]);
    assert!(matches!(reader.next(), Next::Wait));
    writer.write_all(&file.bytes[within..]).unwrap();
    assert_eq!(seconds(&mut reader), [2]);
    assert_eq!(notes(&reader), Vec::<String>::new());

    let (frames, notes) = read(&file.bytes[..within]);
    assert_eq!(frames.len(), 1);
    let end =
        format!("at byte {at} of test (packet 2): 550000 of 600012 bytes of a block are there");
    assert!(notes.len() == 1 && notes[0].ends_with(&end), "{notes:?}");
}

#[test]
fn a_followed_file_may_become_a_compressed_one() {
    let path = folder("growing-compressed").join("growing.pcap.gz");
    std::fs::write(&path, "").unwrap();
    let mut writer = OpenOptions::new().append(true).open(&path).unwrap();
    let mut reader = open(&[&path], EndOfFile::Followed);
    assert!(matches!(reader.next(), Next::Wait));
    writer.write_all(&gzip(&pcap(1..3))).unwrap();
    assert_eq!(seconds(&mut reader), [1, 2]);
    assert_eq!(notes(&reader), Vec::<String>::new());
}

#[test]
fn damage_in_growing_file_is_noted_once() {
    let mut bytes = pcap(1..8);
    bytes[24 + 2 * 76 + 11] = 0xff;
    let path = folder("growing-damaged").join("growing.pcap");
    std::fs::write(&path, "").unwrap();
    let mut writer = OpenOptions::new().append(true).open(&path).unwrap();
    let mut reader = open(&[&path], EndOfFile::Followed);
    let mut read = Vec::new();
    for piece in bytes.chunks(50) {
        read.extend(seconds(&mut reader));
        writer.write_all(piece).unwrap();
    }
    read.extend(seconds(&mut reader));
    assert_eq!(read, [1, 2, 4, 5, 6, 7]);
    let notes = notes(&reader);
    assert!(notes[0].contains("1 place, at byte 176 of"), "{notes:?}");
    assert!(notes[1].contains("76 bytes, the first at byte 176 of"), "{notes:?}");
}

#[test]
fn followed_folder_reads_new_files() {
    let folder = folder("followed");
    let mut reader = open(&[&folder], EndOfFile::Followed);
    assert!(matches!(reader.next(), Next::Wait));
    std::fs::write(folder.join("1.pcap"), pcap(1..3)).unwrap();
    assert_eq!(seconds(&mut reader), [1, 2]);
    let mut writer = OpenOptions::new().append(true).open(folder.join("1.pcap")).unwrap();
    writer.write_all(&pcap(3..5)[24..]).unwrap();
    assert_eq!(seconds(&mut reader), [3, 4]);
    // A capturing program ends a file before it begins the next.
    writer.write_all(&pcap(5..6)[24..]).unwrap();
    std::fs::write(folder.join("2.pcap"), "").unwrap();
    assert_eq!(seconds(&mut reader), [5]);
    std::fs::write(folder.join("2.pcap"), pcap(6..8)).unwrap();
    assert_eq!(seconds(&mut reader), [6, 7]);
    std::fs::write(folder.join("3.pcap.gz"), gzip(&pcap(8..9))).unwrap();
    assert_eq!(seconds(&mut reader), [8]);
    assert!(matches!(reader.next(), Next::Wait));
    std::fs::write(folder.join("4.pcap"), pcap(9..10)).unwrap();
    assert_eq!(seconds(&mut reader), [9]);
    assert_eq!(notes(&reader), Vec::<String>::new());
}

#[test]
fn file_without_packets_is_followed_last() {
    let folder = folder("followed-empty");
    // The names of this program are in no order.
    std::fs::write(folder.join("a.pcap"), pcap([])).unwrap();
    std::fs::write(folder.join("b.pcap"), pcap(1..3)).unwrap();
    let mut reader = open(&[&folder], EndOfFile::Followed);
    assert_eq!(seconds(&mut reader), [1, 2]);
    let mut writer = OpenOptions::new().append(true).open(folder.join("a.pcap")).unwrap();
    writer.write_all(&pcap(3..5)[24..]).unwrap();
    assert_eq!(seconds(&mut reader), [3, 4]);
}

#[test]
fn foreign_file_in_followed_folder_keeps_places() {
    let folder = folder("followed-beside");
    let file = folder.join("1.pcap");
    std::fs::write(&file, pcap(10_000..10_002)).unwrap();
    let mut reader = open(&[&folder], EndOfFile::Followed);
    assert_eq!(seconds(&mut reader), [10_000, 10_001]);
    std::fs::write(folder.join("notes.txt"), "of the capture").unwrap();
    std::fs::write(folder.join("lock"), "").unwrap();
    assert!(matches!(reader.next(), Next::Wait));
    let mut writer = OpenOptions::new().append(true).open(&file).unwrap();
    writer.write_all(&pcap([5_000])[24..]).unwrap();
    assert_eq!(seconds(&mut reader), [5_000]);
    let notes = notes(&reader);
    let text = folder.join("notes.txt").display().to_string();
    assert!(notes[0].contains(&format!("at byte 0 of {text} (packet 1)")), "{notes:?}");
    let place = format!("at byte 176 of {} (packet 3)", file.display());
    assert!(notes[1].contains(&place), "{notes:?}");
}

#[test]
fn records_are_complete_across_buffer_ends() {
    let mut file = Pcap::new(Order::Little, Pcap::NANOSECONDS, 262_144);
    let mut expected = Vec::new();
    for packet in 0..60_u32 {
        let length = if packet % 7 == 0 { 262_144 } else { 1 + packet * 997 % 70_000 };
        let bytes: Vec<u8> = (0..length).map(|byte| (byte ^ packet).to_le_bytes()[0]).collect();
        file.packet(packet, 0, &bytes);
        expected.push(bytes);
    }
    let (frames, notes) = read(&file.bytes);
    assert_eq!(notes, Vec::<String>::new());
    assert!(frames.iter().map(|frame| &frame.bytes).eq(&expected));
}

#[test]
fn streams_come_behind_files() {
    let folder = folder("mixed");
    std::fs::write(folder.join("one"), pcap(1..3)).unwrap();
    let inputs = vec![source(&pcap(3..5)), Input::Path(folder.join("one"))];
    let mut reader = CaptureReader::open(inputs, EndOfFile::Final).unwrap();
    assert_eq!(seconds(&mut reader), [1, 2, 3, 4]);
}

#[test]
fn named_pipes_are_read_once_and_behind_files() {
    let folder = folder("pipes");
    let pipe = folder.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    std::fs::write(folder.join("one"), pcap(3..5)).unwrap();
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::write(pipe, pcap(1..3)).unwrap()
    });
    let mut reader = open(&[&pipe, &folder.join("one")], EndOfFile::Final);
    assert_eq!(seconds(&mut reader), [3, 4, 1, 2]);
    writer.join().unwrap();
}
