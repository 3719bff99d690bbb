# A dumbbell of ns-2 for tools/bench_peers.py: FTP flows and, optionally, thin flows over one bottleneck.
#
#   ns dumbbell.tcl LINKS CONTROL GREEDY THIN RATE_BPS RTT_S QUEUE_PACKETS DURATION_S
#
# LINKS is 1 (the bottleneck alone) or 3 (access links of ten times the rate on both sides). Prints one line:
# data segments acknowledged, CPU seconds of the run without its set-up, and the peak of memory in kB.

# Packets carry the headers that TCP needs and no others, as ns-2's users do for speed.
remove-all-packet-headers
add-packet-header Common Flags IP TCP

foreach {links control greedy thin rate rtt queue duration} $argv break
set ns [new Simulator]
$ns use-scheduler Calendar

proc link {from to rate delay limit} {
  global ns
  $ns duplex-link $from $to $rate $delay DropTail
  $ns queue-limit $from $to $limit
  $ns queue-limit $to $from 1000000
}

set left [$ns node]
set right [$ns node]
if {$links == 3} {
  set entry [$ns node]
  set exit [$ns node]
  link $left $entry [expr {$rate * 10}] 0.00001 1000000
  link $entry $exit $rate [expr {$rtt / 2 - 0.00002}] $queue
  link $exit $right [expr {$rate * 10}] 0.00001 1000000
} else {
  link $left $right $rate [expr {$rtt / 2}] $queue
}

Agent/TCP set window_ [expr {int(2 * $rate * $rtt / 8 / 1500 + 3 * $queue) + 100}]
Agent/TCP set windowInit_ 10
Agent/TCP set minrto_ 0.2
Agent/TCP set tcpTick_ 0.001
Agent/TCP set timestamps_ true
Agent/TCPSink set ts_echo_rfc1323_ true

set random [new RNG]
$random seed 1
set agents {}
for {set i 0} {$i < $greedy + $thin} {incr i} {
  set agent [new Agent/TCP/Linux]
  set sink [new Agent/TCPSink/Sack1/DelAck]
  $sink set interval_ 0.04
  $agent set fid_ $i
  $agent set packetSize_ [expr {$i < $greedy ? 1448 : 120}]
  $ns attach-agent $left $agent
  $ns attach-agent $right $sink
  $ns connect $agent $sink
  $ns at 0 "$agent select_ca $control"
  if {$i < $greedy} {
    set source [new Application/FTP]
  } else {
    set source [new Application/Traffic/CBR]
    $source set packetSize_ 120
    $source set interval_ 0.15
  }
  $source attach-agent $agent
  $ns at [$random uniform 0 0.1] "$source start"
  lappend agents $agent
}

proc cpu_seconds {} {
  set file [open /proc/self/stat]
  set fields [split [lindex [split [read $file] ")"] 1]]
  close $file
  return [expr {([lindex $fields 12] + [lindex $fields 13]) / 100.0}]
}

proc finish {before} {
  global agents
  set cpu [expr {[cpu_seconds] - $before}]
  set segments 0
  foreach agent $agents {
    set acknowledged [$agent set ack_]
    if {$acknowledged > 0} { incr segments $acknowledged }
  }
  set file [open /proc/self/status]
  regexp {VmHWM:\s+(\d+)} [read $file] - memory
  close $file
  puts "$segments $cpu $memory"
  exit 0
}

$ns at $duration "finish [cpu_seconds]"
$ns run
