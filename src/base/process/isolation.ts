import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathOutsideProjects } from '../search-path.ts'
import { findProgram } from './find-program.ts'
import { runShort, runShortSync, type ShortCommand } from './run-short.ts'

/** The values of the setting `agents.isolation`; docs/adr/0003 has the reasons. */
export type Isolation = 'auto' | 'namespace' | 'marker'

/** Nothing escapes a namespace. A process that loses its parent and drops everything it inherited escapes the marker. */
export type IsolationLevel = 'namespace' | 'marker'

/**
 * Tries namespaces by making one: kernels, containers and security modules forbid them in too many ways to predict.
 * `auto` never uses a user namespace, because that hides the owners of files and breaks ssh, sudo and others (docs/adr/0003).
 */
export function probeNamespace(isolation: Isolation): Namespace | undefined {
  return candidatesFor(isolation).find(namespace => runShortSync(trialOf(namespace)).code === 0)
}

/** The level that this setting gives on this machine. */
export async function isolationLevel(isolation: Isolation = 'auto'): Promise<IsolationLevel> {
  for (const namespace of candidatesFor(isolation))
    if ((await runShort(trialOf(namespace))).code === 0) return 'namespace'
  return 'marker'
}

function candidatesFor(isolation: Isolation): Namespace[] {
  if (isolation === 'marker' || process.platform !== 'linux') return []
  return isolation === 'namespace' ? [plain(), withUser()] : [plain()]
}

function plain(): Namespace {
  return { enter: [ours('unshare'), ...PID], prefix: [] }
}

/** The init keeps the capabilities of the namespace, because it sets the agent's pid. They are dropped before the agent starts. */
function withUser(): Namespace {
  return {
    enter: [ours('unshare'), '--user', '--map-current-user', '--keep-caps', ...PID],
    prefix: [ours('setpriv'), '--ambient-caps=-all', '--inh-caps=-all'],
  }
}

const PID = ['--pid', '--fork', '--kill-child=KILL', '--mount-proc', '--propagation=slave']

/** Found on our PATH, not on the agent's, and the system's own first. If the program is missing, the probe fails. */
function ours(program: string): string {
  const PATH = pathOutsideProjects(process.env['PATH'])
  return findProgram(program, { PATH: `/usr/bin:/bin:${PATH}` }) ?? program
}

/** The command that ends with 0 inside a namespace that works. */
function trialOf(namespace: Namespace): ShortCommand {
  // In the namespace /proc counts processes as the namespace does, and the shell is not in ours. Links of pid 1 are closed to it.
  const ours = readlinkSync('/proc/self/ns/pid')
  const inside = `read -r pid rest </proc/self/stat && test "$pid" = $$ && test "$(readlink /proc/$$/ns/pid)" != '${ours}'`
  const leader = wrapInNamespace(namespace, '/bin/sh', ['-c', inside])
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' }
  return { ...leader, cwd: '/', env, timeoutMs: 10_000, maxBytes: 100_000 }
}

/** How a namespace is made: `unshare` with its flags, and the words before the command inside. */
export interface Namespace {
  enter: readonly string[]
  prefix: readonly string[]
}

/**
 * In a namespace the agent runs below three helpers, all in its process group:
 *
 * leader (sh, the child its owner sees) → unshare → init (sh, pid 1 inside) → agent
 *
 * The init is needed: pid 1 ignores signals without a handler, and orphans that nobody reaps would stay visible, so a tool
 * that waits for a process to vanish would wait forever. The agent gets the leader's pid inside too (`ns_last_pid` sets the
 * next one): equal pids in several namespaces would collide wherever a program names a file by its pid.
 * An init cannot die by its own signal, so a death by signal arrives as 128 + n, as in every shell, and the leader then dies
 * by signal n. The leader's traps leave a signal sent to the group for the agent; its children reset them.
 */
export function wrapInNamespace(
  namespace: Namespace,
  command: string,
  args: string[],
): { command: string; args: string[] } {
  const words = ['pcc-leader', namespace.enter.join(' '), INIT, ...namespace.prefix, command, ...args]
  return { command: '/bin/sh', args: ['-c', LEADER, ...words] }
}

/** The processes between the one that its owner sees and the agent. */
export interface Wrapping {
  level: IsolationLevel
  /** The sandbox around the agent, if there is one, and whether a bridge to its network is inside. */
  sandbox?: { hasBridge: boolean } | undefined
}

/**
 * The agent below its leader, and whether it is the only process there: any other would be a child of the agent, or an orphan that the init
 * has adopted. Undefined if there is an orphan, if the agent has no PID namespace, or if the system does not list children.
 */
export function findAgent(leader: number, { level, sandbox }: Wrapping): { pid: number; isAlone: boolean } | undefined {
  // leader → unshare → init in a namespace of ours; otherwise the maker of the sandbox makes one, with an init of its own.
  const ofNamespace = level === 'namespace' ? 3 : 0
  const ofSandbox = sandbox ? (level === 'namespace' ? 1 : 2) + (sandbox.hasBridge ? 1 : 0) : 0
  if (ofNamespace + ofSandbox === 0) return undefined
  let pid: number | undefined = leader
  for (let step = 0; step < ofNamespace + ofSandbox; step += 1) pid = findOnlyChild(pid)
  return pid === undefined ? undefined : { pid, isAlone: readChildren(pid)?.length === 0 }
}

function findOnlyChild(pid: number | undefined): number | undefined {
  const children = pid === undefined ? undefined : readChildren(pid)
  return children?.length === 1 ? children[0] : undefined
}

/** Stops a process with all its threads. Resolves with false if one still ran after a second. */
export async function stopProcess(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 'SIGSTOP')
    for (let waited = 0; waited < STOP_MS; waited += 1) {
      if (isStopped(pid)) return true
      await sleep(1)
    }
  } catch {
    // It is gone, or is not ours to stop.
  }
  return false
}

const STOP_MS = 1_000

/** Lets a stopped process go on, if there still is one. */
export function continueProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT')
  } catch {
    // It is gone.
  }
}

/** Whether no thread of a process runs. A thread in a system call stops when it leaves that. */
function isStopped(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every(thread => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T')
  })
}

/** The children of all threads of a process. */
function readChildren(pid: number): number[] | undefined {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap(thread =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return undefined // the process is gone, or the system has no such list
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

/** The shell's own messages ("Killed") must not appear among the agent's. */
const INIT = `exec 3>&2 2>/dev/null
echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid; shift
(exec 2>&3 3>&-; exec "$@")
exit $?`
