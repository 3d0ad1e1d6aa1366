import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { findProgram } from './find-program.ts'

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
  const { command, args } = wrapInNamespace(namespace, '/bin/sh', ['-c', inside])
  return spawnSync(command, args, { stdio: 'ignore', timeout: 10_000 }).status === 0
}

/** How a namespace is made: `unshare` with its flags, and what stands before the command inside. */
export interface Namespace {
  enter: readonly string[]
  prefix: readonly string[]
}

/**
 * In a namespace the agent stands below three helpers, all in its process group:
 *
 * leader (sh, the child its owner sees) → unshare → init (sh, number 1 inside) → agent
 *
 * The init is needed: number 1 ignores signals it has no handler for, and orphans that nobody reaps would stay visible, so a
 * tool that waits for a process to vanish would wait for ever. The agent gets the leader's number inside too (`ns_last_pid`
 * sets the next one): equal numbers in several namespaces would collide wherever a program names a file by its number.
 * An init cannot die by a signal of its own, so a death by signal arrives as 128 + n, as in every shell, and the leader dies
 * by signal n again. The leader's traps leave a signal to the group for the agent; they are reset in its children.
 */
export function wrapInNamespace(
  namespace: Namespace,
  command: string,
  args: string[],
): { command: string; args: string[] } {
  const words = ['pcc-leader', namespace.enter.join(' '), INIT, ...namespace.prefix, command, ...args]
  return { command: '/bin/sh', args: ['-c', LEADER, ...words] }
}

/**
 * Whether nothing lives in a leader's namespace but the agent: everything else in it is a child of the agent, or an orphan
 * that its init has got. False where the system does not tell.
 */
export function isAlone(leader: number): boolean {
  const agent = onlyChildOf(onlyChildOf(onlyChildOf(leader)))
  return agent !== undefined && childrenOf(agent)?.length === 0
}

function onlyChildOf(pid: number | undefined): number | undefined {
  const children = pid === undefined ? undefined : childrenOf(pid)
  return children?.length === 1 ? children[0] : undefined
}

/** The children of each of its threads. */
function childrenOf(pid: number): number[] | undefined {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap(thread =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return undefined // gone, or a system without that list
  }
}

const LEADER = `enter=$1 init=$2; shift 2
trap : HUP INT QUIT USR1 PIPE USR2 ALRM TERM
$enter /bin/sh -c "$init" pcc-init $$ "$@"
code=$?
if [ $code -gt 128 ] && [ $code -le 143 ]; then
  ulimit -c 0; trap - HUP INT QUIT USR1 PIPE USR2 ALRM TERM; kill -$((code - 128)) $$
fi
exit $code`

/** Its own complaints ("Killed") must not appear among the agent's. */
const INIT = `exec 3>&2 2>/dev/null
echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid; shift
(exec 2>&3 3>&-; exec "$@")
exit $?`
