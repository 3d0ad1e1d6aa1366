import { spawnSync } from 'node:child_process'
import { findProgram } from './find-program.ts'
import { inNamespace, type Namespace } from './namespace.ts'

/** What `agents.isolation` may say; docs/adr/0003 has the reasons. */
export type Isolation = 'auto' | 'namespace' | 'marker'

/** What holds: nothing escapes a namespace; a process that loses its parent and drops all it inherited escapes the marker. */
export type IsolationLevel = 'namespace' | 'marker'

/**
 * Finds out by really doing it: kernels, containers and security modules forbid namespaces in too many ways to predict.
 * `auto` never takes a user namespace: it hides who owns a file, which breaks ssh, sudo and others (docs/adr/0003).
 */
export function probeNamespace(isolation: Isolation): Namespace | undefined {
  if (isolation === 'marker' || process.platform !== 'linux') return undefined
  const candidates = isolation === 'namespace' ? [plain(), withUser()] : [plain()]
  return candidates.find(works)
}

/** The level that this choice gives on this machine. */
export function isolationLevel(isolation: Isolation = 'auto'): IsolationLevel {
  return probeNamespace(isolation) ? 'namespace' : 'marker'
}

function plain(): Namespace {
  return { enter: [ours('unshare'), ...PID], prefix: [] }
}

/** The rights over the namespace are kept for the init, which sets the agent's number, and dropped before the agent starts. */
function withUser(): Namespace {
  return {
    enter: [ours('unshare'), '--user', '--map-current-user', '--keep-caps', ...PID],
    prefix: [ours('setpriv'), '--ambient-caps=-all', '--inh-caps=-all'],
  }
}

const PID = ['--pid', '--fork', '--kill-child=KILL', '--mount-proc', '--propagation=slave']

/** By our PATH, not the agent's. One that is not there fails the probe. */
function ours(program: string): string {
  return findProgram(program, process.env) ?? program
}

function works(namespace: Namespace): boolean {
  const inside = 'test "$(readlink /proc/1/ns/pid)" = "$(readlink /proc/$$/ns/pid)"'
  const { command, args } = inNamespace(namespace, '/bin/sh', ['-c', inside])
  return spawnSync(command, args, { stdio: 'ignore', timeout: 10_000 }).status === 0
}
