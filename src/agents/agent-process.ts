import { once } from 'node:events'
import { describeSearchPath, findProgram } from '../base/process/find-program.ts'
import type { GuardedChild, ProcessGuard } from '../base/process/guardian.ts'
import { continueProcess, findAgent, type Isolation, stopProcess } from '../base/process/isolation.ts'
import { type Marker, sessionMarker } from '../base/process/marker.ts'
import { rawStartTime } from '../base/process/process-table.ts'
import type { Sandbox } from '../base/sandbox/sandbox.ts'
import type { AgentManifest } from '../domain/agent-manifest.ts'
import { agentMissingError } from '../domain/agents/find-manifest.ts'

/** How long the last words of an ended process are waited for: on a busy machine its exit is seen before them. */
const LAST_WORDS_MS = 500

/** How a driver starts its agent; the same for all its sessions. */
export interface DriverOptions {
  /** Path of the agent's program; without it, the bundled program. */
  executable?: string | undefined
  /** Added after our own lines at the end of the system prompt. */
  appendPrompt?: string | undefined
  /** Takes lines for the log: never values of the environment, never text of the agent. */
  log?: ((line: string) => void) | undefined
  /** How long an ask may take before it counts as refused. */
  askDeadlineMs?: number | undefined
  /** How long a resumed session without a prompt waits for the call that was parked. */
  reofferMs?: number | undefined
  /** How long a warm process waits for its session. */
  warmForMs?: number | undefined
}

const STDERR_CHARS = 4000

/** Why a process cannot get another task. */
export const LEFT_RUNNING = 'a process of the task before may still run'

/** How to start a program; the signal ends it. */
export interface ProcessStart {
  command: string
  args: string[]
  cwd?: string | undefined
  env: Record<string, string | undefined>
  signal: AbortSignal
  /** Paths made for this program, which a sandbox has to show. */
  shows?: string[]
  /** Those of the shown paths that the program may write. */
  writes?: string[]
}

interface ProcessOptions {
  /** The agent's name, and how a person installs it. */
  manifest: Pick<AgentManifest, 'name' | 'start'>
  guard: ProcessGuard
  isolation: Isolation
  marker: string
  /** The sandbox around the agent; it is taken down with the agent. */
  sandbox?: Sandbox | undefined
  /** Opens the sandbox of a second start, after the first process has ended. */
  newSandbox?: (() => Sandbox | undefined) | undefined
  /** Where the agent will work, if it is not where its process starts: a process that is started ahead of its session. */
  cwd?: string | undefined
  /** Whether it waits for a session: after its start, or for the next one when its session is over. */
  mayStay?: boolean | undefined
  /** Takes what the agent writes to stderr. */
  log?: ((line: string) => void) | undefined
}

/** The process of one agent, started when it is needed. The guardian watches everything that it starts. */
export class AgentProcess {
  readonly marker: Marker
  readonly #manifest: ProcessOptions['manifest']
  readonly #guard: ProcessGuard
  readonly #isolation: Isolation
  readonly #newSandbox: ProcessOptions['newSandbox']
  readonly #cwd: string | undefined
  readonly #mayStay: boolean
  readonly #log: ((line: string) => void) | undefined
  #sandbox: Sandbox | undefined
  #child: GuardedChild | undefined
  /** What the sandbox was made of, if the process may stay. */
  #made: { cwd: string; env: ProcessStart['env']; identity: string } | undefined
  #stderr = ''
  #hasSurvivors = false
  #problem: Error | undefined

  constructor(options: ProcessOptions) {
    const { manifest, guard, isolation, marker, sandbox, newSandbox, cwd, mayStay = false, log } = options
    this.#manifest = manifest
    this.#guard = guard
    this.#isolation = isolation
    this.#sandbox = sandbox
    this.#newSandbox = newSandbox
    this.#cwd = cwd
    this.#mayStay = mayStay
    this.#log = log
    this.marker = sessionMarker(marker)
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  get alive(): boolean {
    const { pid, exitCode, signalCode } = this.#child ?? {}
    // Node reports the exit some time after the fact; the system knows at once.
    return pid !== undefined && exitCode === null && signalCode === null && rawStartTime(pid) !== undefined
  }

  /** Nothing that the agent started is still running. Only a PID namespace knows this: elsewhere an orphan is nobody's child. */
  get alone(): boolean {
    return this.#inside?.isAlone === true
  }

  /** Whether `alone` can be true at all: whether there is a PID namespace. */
  get knowsWhetherAlone(): boolean {
    return this.#child?.level === 'namespace' || this.#sandbox !== undefined
  }

  /** Whether the agent runs in a sandbox out of which it has found no way. */
  get walled(): boolean {
    return this.#child !== undefined && this.#sandbox?.isWall === true && !this.#sandbox.breached.aborted
  }

  /** The agent itself, below the processes that hold it. */
  get #inside(): { pid: number; isAlone: boolean } | undefined {
    const { level, pid } = this.#child ?? {}
    return level && pid !== undefined ? findAgent(pid, { level, sandbox: this.#sandbox }) : undefined
  }

  /** Notes what the sandbox holds before the agent has run anything. */
  rememberFolders(): void {
    const inside = this.#inside
    if (inside) this.#sandbox?.folders.remember(inside.pid)
  }

  /**
   * Stops the agent with all its threads until `thaw`. Code of its task can put a thread into it, which would work beside those who check and
   * merge the task. Returns why that is not certain.
   */
  async freeze(): Promise<string | undefined> {
    const inside = this.#inside
    if (!inside || !(await stopProcess(inside.pid))) return 'it could not be stopped'
    return this.alone ? undefined : LEFT_RUNNING
  }

  thaw(): void {
    const inside = this.#inside
    if (inside) continueProcess(inside.pid)
  }

  /** Ends one task of an agent that gets another: nothing that git outside would follow stays, as when the sandbox is closed. */
  endTask(): void {
    this.#sandbox?.endTask()
  }

  /**
   * Prepares the sandbox for the next task: what the last one left in it is removed. Returns why it cannot be as it was at the start, or
   * why that is not known.
   */
  async beginTask(): Promise<string | undefined> {
    if (!this.#sandbox) return undefined
    // What is removed here must not become a link to something else meanwhile.
    const doubt = await this.freeze()
    const inside = this.#inside
    if (doubt !== undefined || !inside) return doubt ?? LEFT_RUNNING
    if (this.#sandbox.breached.aborted) return 'the agent has reached out of its sandbox'
    const problem = this.#sandbox.folders.restore(inside.pid)
    if (problem !== undefined) return problem
    this.#sandbox.beginTask()
    this.thaw()
    return undefined
  }

  /** Whether the process is in the sandbox that would be made for it now. */
  get isInRightSandbox(): boolean {
    if (!this.#sandbox) return true
    try {
      return this.#made !== undefined && this.#sandbox.identify(this.#made) === this.#made.identity
    } catch {
      return false // the cold start says why
    }
  }

  /** The agent never ran: its program does not exist or cannot be started. */
  get missing(): boolean {
    return this.#child?.pid === undefined
  }

  /** Resolves when the last words of the process have been read. A process that it left behind may hold them open, so this is bounded. */
  async readLastWords(): Promise<void> {
    const stderr = this.#child?.stderr
    if (stderr && !stderr.closed)
      await once(stderr, 'close', { signal: AbortSignal.timeout(LAST_WORDS_MS) }).catch(() => [])
  }

  /** How the process ended and the end of its stderr, for a message. */
  get failureText(): string {
    const { exitCode, signalCode } = this.#child ?? {}
    const how =
      this.#problem?.message ?? (signalCode ? `killed by ${signalCode}` : `exit code ${exitCode ?? 'unknown'}`)
    const stderr = this.#stderr.trim()
    return stderr ? `${how}: ${stderr.slice(-500)}` : how
  }

  readonly spawn = (starting: ProcessStart): GuardedChild => {
    const { signal, cwd } = starting
    if (this.#child && this.#sandbox) this.#sandbox = this.#newSandbox?.() ?? this.#sandbox
    const command = this.#findProgram(starting)
    const wrapped = this.#wrapInSandbox({ ...starting, command })
    const child = this.#guard.spawn(
      { cwd: this.#sandbox ? '/' : cwd, ...wrapped, marker: this.marker },
      this.#isolation,
    )
    this.#child = child
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_CHARS)
      this.#log?.(text.slice(0, STDERR_CHARS).trimEnd())
    })
    child.once('error', error => {
      this.#problem = error
    })
    // An agent that died leaves a broken pipe; only its exit matters.
    child.stdin.on('error', () => undefined)
    signal.addEventListener('abort', () => child.kill('SIGTERM'), { once: true })
    this.#sandbox?.breached.addEventListener('abort', () => this.#endBreached(), { once: true })
    return child
  }

  /** Ends the agent before it can do anything more. The guardian ends what it started, as at every other end. */
  kill(): void {
    this.#child?.kill('SIGKILL')
  }

  /** Resolves when the agent itself is gone. */
  async exited(): Promise<void> {
    const child = this.#child
    if (child && child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }

  /** Resolves when everything that the agent wrote to stderr has been read, which may be some time after its exit. */
  async stderrRead(): Promise<void> {
    const { stderr } = this.#child ?? {}
    if (stderr && !stderr.closed) await once(stderr, 'close')
  }

  /** Resolves when nothing that the agent started is left, or nothing more can be done about it. */
  async end(): Promise<void> {
    const survivors = await this.#child?.end()
    this.#hasSurvivors = (survivors?.length ?? 0) > 0
    await this.#sandbox?.[Symbol.asyncDispose]()
  }

  /** Finds the program here, because the system would also search folders of the directory that the agent works in. */
  #findProgram({ command, env, cwd = process.cwd() }: ProcessStart): string {
    const program = findProgram(command, env, cwd)
    if (program !== undefined) return program
    // A path that leads nowhere fails by itself; an agent that has a sandbox is never started without it.
    if (command.includes('/') && !this.#sandbox) return command
    throw agentMissingError(this.#manifest, `there is no program ${command} ${describeSearchPath(command, env)}`)
  }

  #endBreached(): void {
    this.#problem = this.#sandbox?.breached.reason as Error
    this.kill()
  }

  #wrapInSandbox({
    command,
    args,
    env,
    cwd = process.cwd(),
    shows = [],
    writes = [],
  }: ProcessStart): Pick<ProcessStart, 'command' | 'args' | 'env'> {
    if (!this.#sandbox) return { command, args, env }
    const pidNamespace = this.#guard.level(this.#isolation) !== 'namespace'
    const inside = { command, args, env, cwd: this.#cwd ?? cwd, shows, writes }
    const wrapped = this.#sandbox.wrap(inside, { pidNamespace })
    if (this.#mayStay) this.#made = { cwd: inside.cwd, env, identity: this.#sandbox.identify(inside) }
    return wrapped
  }

  /** True when a process of the agent was still there after its end. */
  get hasSurvivors(): boolean {
    return this.#hasSurvivors
  }
}
