import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runShortSync } from '../process/run-short.ts'

/** Numbers of one system call, by the kind of program that makes it. */
type Numbers = [x64: number | null, ia32: number | null, arm64: number | null, arm: number | null]

/**
 * System calls that nothing in everyday work needs. Keys of the session would be shared with what the person runs; `pidfd_getfd` takes open
 * connections out of other processes; the rest widens what of the kernel an agent can reach. Mounts and further namespaces need no entry:
 * without rights of root and with `--disable-userns` the kernel refuses them. `ptrace` stays, because debuggers are everyday work.
 */
const REFUSED_CALLS: Record<string, Numbers> = {
  add_key: [248, 286, 217, 309],
  request_key: [249, 287, 218, 310],
  keyctl: [250, 288, 219, 311],
  pidfd_getfd: [438, 438, 438, 438],
  bpf: [321, 357, 280, 386],
  perf_event_open: [298, 336, 241, 364],
  userfaultfd: [323, 374, 282, 388],
  io_uring_setup: [425, 425, 425, 425],
  io_uring_enter: [426, 426, 426, 426],
  io_uring_register: [427, 427, 427, 427],
  init_module: [175, 128, 105, 128],
  finit_module: [313, 350, 273, 379],
  delete_module: [176, 129, 106, 129],
  kexec_load: [246, 283, 104, 347],
  kexec_file_load: [320, null, 294, 401],
  // The old way of 32-bit programs to make a socket: no filter can see of which kind.
  socketcall: [null, 102, null, null],
}

/** Calls that are refused for some values of an argument. */
const REFUSED_VALUES: { numbers: Numbers; argument: 'first' | 'second'; values: number[] }[] = [
  // `ioctl` with TIOCSTI and TIOCLINUX, which put characters into a terminal as if somebody had typed them.
  { numbers: [16, 54, 29, 54], argument: 'second', values: [0x5412, 0x541c] },
  // `socket` with AF_VSOCK, which leads to the machine that runs this one, past every network namespace.
  { numbers: [41, 359, 198, 281], argument: 'first', values: [40] },
]

/** Kinds of programs as the kernel names them, each with its column of numbers. One processor runs two kinds. */
const KINDS = {
  x64: { audit: 0xc000003e, column: 0 },
  ia32: { audit: 0x40000003, column: 1 },
  arm64: { audit: 0xc00000b7, column: 2 },
  arm: { audit: 0x40000028, column: 3 },
} as const
const KINDS_OF: Record<string, (keyof typeof KINDS)[]> = { x64: ['x64', 'ia32'], arm64: ['arm64', 'arm'] }

const ALLOW = 0x7fff0000
/** With the number of EPERM. */
const REFUSE = 0x00050001
/** Numbers from here on are a third kind of program on x64, which nobody uses. */
const X32 = 0x40000000

const LOAD = 0x20
const JUMP_IF_EQUAL = 0x15
const JUMP_IF_AT_LEAST = 0x35
const RETURN = 0x06
/** Places in what the kernel gives to the filter: the number of the call, the kind of program, the low halves of the first arguments. */
const AT = { call: 0, kind: 4, first: 16, second: 24 }

/**
 * The filter of system calls for programs in a sandbox, as the kernel takes it (classic BPF); undefined for a processor whose numbers we do
 * not know. A refused call fails with EPERM, so that programs that try it go on without.
 */
export function systemCallFilter(arch: string = process.arch): Buffer | undefined {
  const kinds = KINDS_OF[arch]?.map(name => KINDS[name])
  if (!kinds) return undefined
  const parts = kinds.flatMap(({ audit, column }) => {
    const rules = rulesFor(column)
    return [step(JUMP_IF_EQUAL, audit, { yes: 0, no: rules.length }), ...rules]
  })
  // A kind of program that is not among them gets nothing.
  return Buffer.concat([step(LOAD, AT.kind), ...parts, step(RETURN, REFUSE)])
}

/** Writes the filter into a folder, for bubblewrap; undefined if there is none for this processor. */
export function writeFilter(folder: string): string | undefined {
  const filter = systemCallFilter()
  if (!filter) return undefined
  const file = join(folder, 'system-calls')
  writeFileSync(file, filter, { mode: 0o600 })
  return file
}

interface Rule {
  code: number
  k: number
  /** How many rules are passed over where the value is another one. */
  skips?: number
  /** Whether it leads to the last rule, which refuses, where the value is this one. */
  refuses?: boolean
}

/** The part of the filter for one kind of program; each way through it ends with an answer. */
function rulesFor(column: number): Buffer[] {
  const refused = Object.values(REFUSED_CALLS).flatMap(numbers => numbers[column] ?? [])
  const rules: Rule[] = [
    { code: LOAD, k: AT.call },
    ...(column === 0 ? [{ code: JUMP_IF_AT_LEAST, k: X32, refuses: true }] : []),
    ...refused.map(k => ({ code: JUMP_IF_EQUAL, k, refuses: true })),
    ...REFUSED_VALUES.flatMap(({ numbers, argument, values }) => [
      { code: JUMP_IF_EQUAL, k: numbers[column] ?? 0, skips: values.length + 2 },
      { code: LOAD, k: AT[argument] },
      ...values.map(k => ({ code: JUMP_IF_EQUAL, k, refuses: true })),
      { code: RETURN, k: ALLOW },
    ]),
    ...[ALLOW, REFUSE].map(k => ({ code: RETURN, k })),
  ]
  return rules.map(({ code, k, skips = 0, refuses = false }, at) =>
    step(code, k, { yes: refuses ? rules.length - at - 2 : 0, no: skips }),
  )
}

/** One step of the filter, little-endian like both processors. */
function step(code: number, k: number, jump: { yes: number; no: number } = { yes: 0, no: 0 }): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(jump.yes, 2)
  bytes.writeUInt8(jump.no, 3)
  bytes.writeUInt32LE(k, 4)
  return bytes
}

/** Where systems keep it; git itself needs it. */
const PERL = '/usr/bin/perl'

/** The numbers of these calls are the same on all processors. */
const CREATE_RULESET = 444
const RESTRICT_SELF = 446
/** From this version on Landlock knows scopes (Linux 6.12). */
const FIRST_VERSION = 6

/** A set of rules that has only a scope: abstract sockets of processes outside are not reached. Then it becomes the command. */
const SCOPING = `my $rules = syscall(${CREATE_RULESET}, my $scope = pack('QQQ', 0, 0, 1), 24, 0);
$rules >= 0 && syscall(${RESTRICT_SELF}, $rules, 0) == 0 or die "pcc: nothing was started: Landlock failed: $!\n";
exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\n"`

/**
 * A command that cannot reach abstract sockets of the machine. They belong to the network and not to the file system, so no mount hides them:
 * a desktop's X server listens on one, lets the person's own processes in without a key, and types for them.
 */
export function scopedCommand(command: string[]): string[] {
  return canScope() ? [PERL, '-e', SCOPING, '--', ...command] : command
}

/** What was found out about this machine: it does not change while this process runs. */
const machine: { canScope?: boolean } = {}

/** Whether the kernel and the machine can do that: an old kernel cannot. */
export function canScope(): boolean {
  machine.canScope ??= readVersion() >= FIRST_VERSION
  return machine.canScope
}

function readVersion(): number {
  if (process.platform !== 'linux') return 0
  const args = ['-e', `print syscall(${CREATE_RULESET}, 0, 0, 1)`]
  const { stdout } = runShortSync({ command: PERL, args, cwd: '/', env: {}, timeoutMs: 5_000, maxBytes: 1_000 })
  return Number(stdout) || 0
}
