import { once } from 'node:events'
import { describeSearchPath, findInstalledProgram } from '../base/process/find-program.ts'
import type { GuardedChild, ProcessGuard } from '../base/process/guardian.ts'
import { type Isolation, isAlone } from '../base/process/isolation.ts'
import { type Marker, sessionMarker } from '../base/process/marker.ts'
import { rawStartTime } from '../base/process/process-table.ts'
import type { AgentManifest } from '../domain/agent-manifest.ts'
import { agentMissingError } from './manifests/manifests.ts'
import type { Sandbox } from './sandbox/sandbox.ts'

/** How a driver starts its agent; the same for all its sessions. */
export interface DriverOptions {
  /** Path of the agent's program; the one that came with us when absent. */
  executable?: string | undefined
  /** Put behind our own lines at the end of the system prompt. */
  appendPrompt?: string | undefined
  /** Takes lines for the log: never values of the environment, never what the agent says. */
  log?: ((line: string) => void) | undefined
  /** How long an ask may take before it counts as refused. */
  askDeadlineMs?: number | undefined
  /** How long a resumed session without a prompt waits for the call that was parked. */
  reofferMs?: number | undefined
  /** How long a warm process waits for its session. */
  warmForMs?: number | undefined
}

const STDERR_CHARS = 4000

/** How a program is started; the abort ends it. */
export interface ProcessStart {
  command: string
  args: string[]
  cwd?: string | undefined
  env: Record<string, string | undefined>
  signal: AbortSignal
  /** Paths made for it, which a sandbox has to show. */
  shows?: string[]
  /** Of these, those that it may write. */
  writes?: string[]
}

interface ProcessOptions {
  /** What it is called, and how a person gets it. */
  manifest: Pick<AgentManifest, 'name' | 'start'>
  guard: ProcessGuard
  isolation: Isolation
  marker: string
  /** What stands around it; it is taken down with the agent. */
  sandbox?: Sandbox | undefined
  /** Takes what the agent writes to stderr. */
  log?: ((line: string) => void) | undefined
}

/** The process of one agent, started when it is needed, with all that it starts under the guardian. */
export class AgentProcess {
  readonly marker: Marker
  readonly #manifest: ProcessOptions['manifest']
  readonly #guard: ProcessGuard
  readonly #isolation: Isolation
  readonly #sandbox: Sandbox | undefined
  readonly #log: ((line: string) => void) | undefined
  #child: GuardedChild | undefined
  #stderr = ''
  #withstood = false
  #problem: Error | undefined

  constructor({ manifest, guard, isolation, marker, sandbox, log }: ProcessOptions) {
    this.#manifest = manifest
    this.#guard = guard
    this.#isolation = isolation
    this.#sandbox = sandbox
    this.#log = log
    this.marker = sessionMarker(marker)
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  get alive(): boolean {
    const { pid, exitCode, signalCode } = this.#child ?? {}
    // Its exit is told some time after the fact; the system knows at once.
    return pid !== undefined && exitCode === null && signalCode === null && rawStartTime(pid) !== undefined
  }

  /** Nothing that it started runs any more. Only a namespace knows: elsewhere an orphan is nobody's child. */
  get alone(): boolean {
    const { level, pid } = this.#child ?? {}
    return level === 'namespace' && pid !== undefined && isAlone(pid)
  }

  /** It never ran: the program is not there, or cannot be started. */
  get missing(): boolean {
    return this.#child?.pid === undefined
  }

  /** The last that is known of it, for a message. */
  get lastWords(): string {
    const { exitCode, signalCode } = this.#child ?? {}
    const how =
      this.#problem?.message ?? (signalCode ? `killed by ${signalCode}` : `exit code ${exitCode ?? 'unknown'}`)
    const words = this.#stderr.trim()
    return words ? `${how}: ${words.slice(-500)}` : how
  }

  readonly spawn = (starting: ProcessStart): GuardedChild => {
    const { signal, cwd } = starting
    const command = this.#programOf(starting)
    const wrapped = this.#wrapped({ ...starting, command })
    const child = this.#guard.spawn({ cwd, ...wrapped, marker: this.marker }, this.#isolation)
    this.#child = child
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_CHARS)
      this.#log?.(text.slice(0, STDERR_CHARS).trimEnd())
    })
    child.once('error', error => {
      this.#problem = error
    })
    // An agent that died leaves a broken pipe; its exit is what counts.
    child.stdin.on('error', () => undefined)
    signal.addEventListener('abort', () => child.kill('SIGTERM'), { once: true })
    this.#sandbox?.breached.addEventListener('abort', () => this.#breached(), { once: true })
    return child
  }

  /** Ends the agent before it can do one thing more. What it started is the guardian's, as at every other end. */
  kill(): void {
    this.#child?.kill('SIGKILL')
  }

  /** Resolves when the agent itself is gone. */
  async exited(): Promise<void> {
    const child = this.#child
    if (child && child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }

  /** Resolves when all that it wrote to stderr was read, which may be some time after its exit. */
  async silent(): Promise<void> {
    const { stderr } = this.#child ?? {}
    if (stderr && !stderr.closed) await once(stderr, 'close')
  }

  /** Resolves when nothing that it started is left, or nothing more can be done about it. */
  async end(): Promise<void> {
    const left = await this.#child?.end()
    this.#withstood = (left?.length ?? 0) > 0
    await this.#sandbox?.[Symbol.asyncDispose]()
  }

  /** Found here and not by the system, which would look in folders of the directory that the agent works in as well. */
  #programOf({ command, env, cwd = process.cwd() }: ProcessStart): string {
    const found = findInstalledProgram(command, env, cwd)
    if (found !== undefined) return found
    // A path that leads nowhere fails by itself; nothing of an agent that has a sandbox is ever started bare.
    if (command.includes('/') && !this.#sandbox) return command
    throw agentMissingError(this.#manifest, `there is no program ${command} ${describeSearchPath(command, env)}`)
  }

  #breached(): void {
    this.#problem = this.#sandbox?.breached.reason as Error
    this.kill()
  }

  #wrapped({
    command,
    args,
    env,
    cwd = process.cwd(),
    shows = [],
    writes = [],
  }: ProcessStart): Pick<ProcessStart, 'command' | 'args' | 'env'> {
    if (!this.#sandbox) return { command, args, env }
    const pidNamespace = this.#guard.level(this.#isolation) !== 'namespace'
    return this.#sandbox.wrap({ command, args, env, cwd, shows, writes }, { pidNamespace })
  }

  /** True where something of it was still there at the end. */
  get withstood(): boolean {
    return this.#withstood
  }
}
