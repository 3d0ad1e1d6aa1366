import { spawnSync } from 'node:child_process'

/** What `agents.isolation` may say; docs/adr/0003 has the reasons. */
export type Isolation = 'auto' | 'namespace' | 'marker'

/** What holds: nothing escapes a namespace; a process that both double-forks and drops its environment escapes the marker. */
export type IsolationLevel = 'namespace' | 'marker'

/** How a namespace is made here: the flags of `unshare`, and what stands before the command inside. */
export interface Namespace {
  flags: readonly string[]
  prefix: readonly string[]
}

const PID = ['--pid', '--fork', '--kill-child=KILL', '--mount-proc', '--propagation=slave'] as const
const PLAIN: Namespace = { flags: PID, prefix: [] }
/** The rights over the namespace are kept for the init, which sets the agent's number, and dropped before the agent starts. */
const WITH_USER: Namespace = {
  flags: ['--user', '--map-current-user', '--keep-caps', ...PID],
  prefix: ['setpriv', '--ambient-caps=-all', '--inh-caps=-all'],
}

/**
 * Finds out by really doing it: kernels, containers and security modules forbid namespaces in too many ways to predict.
 * `auto` never takes a user namespace: it hides who owns a file, which breaks ssh, sudo and others (docs/adr/0003).
 */
export function probeNamespace(isolation: Isolation): Namespace | undefined {
  if (isolation === 'marker' || process.platform !== 'linux') return undefined
  const candidates = isolation === 'namespace' ? [PLAIN, WITH_USER] : [PLAIN]
  return candidates.find(works)
}

/** The level that this choice gives on this machine. */
export function isolationLevel(isolation: Isolation = 'auto'): IsolationLevel {
  return probeNamespace(isolation) ? 'namespace' : 'marker'
}

function works({ flags, prefix }: Namespace): boolean {
  const inside = ['/bin/sh', '-c', 'test "$(readlink /proc/1/ns/pid)" = "$(readlink /proc/$$/ns/pid)"']
  const probe = spawnSync('unshare', [...flags, ...prefix, ...inside], { stdio: 'ignore', timeout: 10_000 })
  return probe.status === 0
}
