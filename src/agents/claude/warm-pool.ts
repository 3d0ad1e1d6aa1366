import { createHash } from 'node:crypto'
import {
  type Options,
  prewarm,
  type Query,
  query,
  type SDKUserMessage,
  type SpawnOptions,
  startup,
} from '@anthropic-ai/claude-agent-sdk'
import type { OpenSession } from '../../domain/session.ts'
import { ClaudeConnection, type PromptStream } from './connection.ts'
import type { ClaudeProcess } from './session.ts'

/** A process without its connection: whether it is started ahead of its session or with it decides how that is made. */
export type PreparedProcess = Omit<ClaudeProcess, 'connection'>

/** A process that is started ahead of its session. */
interface WarmProcess {
  process: PreparedProcess
  starting: Promise<WarmStart | undefined>
  timer: NodeJS.Timeout
}

/**
 * Processes that were started before their session is needed, one for each environment and set of options. A process that
 * nobody takes in time is ended, because it holds 170 MB; a process that died is not handed out.
 */
export class WarmPool {
  readonly #waiting = new Map<string, WarmProcess>()
  /** Ending processes with their markers: a new process with the same marker must wait, or the sweep would end it too. */
  readonly #ending = new Map<Promise<void>, string>()
  /** Projects whose folders a process refuses to switch to after its start. */
  readonly #refusing = new Set<string>()
  readonly #keepMs: number
  #closed = false

  constructor(keepMs: number) {
    this.#keepMs = keepMs
  }

  /** Starts a process unless one waits already; resolves when it is ready. A failed start is reported by the cold start that follows. */
  async add(open: OpenSession, prepare: () => { process: PreparedProcess; options: Options }): Promise<void> {
    const key = keyOf(open)
    // No needless `await` here: a `remove` right after this call must find the process in the map.
    if (this.#isEnding(open.marker)) await this.#gone(open.marker)
    if (this.#closed || this.#waiting.has(key) || this.#refusing.has(projectOf(open))) return
    const { process, options } = prepare()
    const starting = startWarm(options, { process, refused: () => this.#refusing.add(projectOf(open)) }).catch(
      () => undefined,
    )
    const timer = setTimeout(() => this.#discard(key), this.#keepMs).unref()
    this.#waiting.set(key, { process, starting, timer })
    if (!(await starting)) await this.#discard(key)
  }

  /**
   * The waiting process that fits, if it is alive. A process with the same marker that does not fit is ended first: its end
   * sweeps everything that carries the marker, which would include the new session's process.
   */
  async take(open: OpenSession): Promise<ClaudeProcess | undefined> {
    const key = keyOf(open)
    const warm = this.#waiting.get(key)
    this.#waiting.delete(key)
    await this.#discardMarked(open.marker)
    await this.#gone(open.marker)
    if (!warm) return undefined
    clearTimeout(warm.timer)
    const ready = await warm.starting
    const { alive, isInRightSandbox } = warm.process.agent
    if (ready && alive && isInRightSandbox)
      return { ...warm.process, connection: new ClaudeConnection(prompts => ready.query(prompts, open.cwd)) }
    await this.#end(warm)
    return undefined
  }

  /** Ends the process that waits for these options, and all others started for the same session. */
  async remove(open: OpenSession): Promise<void> {
    await this.#discard(keyOf(open))
    await this.#discardMarked(open.marker)
  }

  /** Ends all waiting processes; resolves when they are gone. */
  async close(): Promise<void> {
    this.#closed = true
    for (const key of [...this.#waiting.keys()]) void this.#discard(key)
    await Promise.all(this.#ending.keys())
  }

  #isEnding(marker: string | undefined): boolean {
    return [...this.#ending.values()].some(its => its === marker)
  }

  async #gone(marker: string | undefined): Promise<void> {
    await Promise.all([...this.#ending].map(([ended, its]) => (its === marker ? ended : undefined)))
  }

  async #discardMarked(marker: string | undefined): Promise<void> {
    for (const [key, { process }] of this.#waiting) {
      if (process.agent.marker.value === marker) await this.#discard(key)
    }
  }

  async #discard(key: string): Promise<void> {
    const warm = this.#waiting.get(key)
    this.#waiting.delete(key)
    if (warm) await this.#end(warm)
  }

  #end({ process, starting, timer }: WarmProcess): Promise<void> {
    clearTimeout(timer)
    process.gate.close()
    const ended = process.agent
      .end()
      .then(() => starting)
      .then(ready => ready?.close())
      // The guardian reports a process that will not die; the pool must not fail because of it.
      .catch(() => undefined)
      .finally(() => this.#ending.delete(ended))
    this.#ending.set(ended, process.agent.marker.value)
    return ended
  }
}

/** All worktrees of a repository have the same settings, as a rule. */
function projectOf({ sandbox, cwd }: OpenSession): string {
  return sandbox?.git?.common ?? cwd
}

/** Everything that is fixed when the process starts. The folder is fixed only for a resumed conversation. Hashed, because it holds secrets. */
function keyOf(open: OpenSession): string {
  const { id: _id, prompt: _prompt, mayBegin: _mayBegin, asks: _asks, record: _record, env, ...fixed } = open
  return createHash('sha256')
    .update(JSON.stringify([sorted(env), sorted(open.resume ? fixed : { ...fixed, cwd: undefined })]))
    .digest('hex')
}

/** A missing key counts the same as `undefined`. */
function sorted(record: Record<string, unknown>): [string, unknown][] {
  return Object.entries(record)
    .filter(([, value]) => value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/** A process that was started ahead of its session. */
interface WarmStart {
  /** Uses the process for a session in a folder, which may differ from the one it was started for. */
  query(prompts: PromptStream, cwd: string): Query | Promise<Query>
  /** Releases what the vendor's library holds; the guardian ends the process itself. */
  close(): void
}

/**
 * Starts a process ahead of its session. `startup` would read the project's instructions, skills and git state and run its
 * SessionStart hooks at once, while the task that is still running changes all of them. A spare reads them when it is claimed,
 * so its first request is word for word that of a cold start. A spare cannot be claimed for a resumed conversation.
 */
async function startWarm(
  options: Options,
  { process, refused }: { process: PreparedProcess; refused(): void },
): Promise<WarmStart> {
  if (options.resume !== undefined) {
    const warm = await startup({ options })
    return { query: prompts => warm.query(prompts), close: () => warm.close() }
  }
  const { cwd: _, ...rest } = options
  // The library creates a directory first, and the start may be called off meanwhile.
  const spawn = (wanted: SpawnOptions) => {
    if (process.gate.closed) throw new Error('it is not needed any more')
    return process.agent.spawn(wanted)
  }
  const spare = await prewarm({ options: { ...rest, spawnClaudeCodeProcess: spawn } })
  const exited = spare.exited.then(() => {
    throw new Error('it ended before it was claimed')
  })
  const claimed = Promise.race([spare.claimed, exited])
  claimed.catch(() => undefined) // `claim` reports the error
  const claim = async (prompts: PromptStream, cwd: string): Promise<Query> => {
    const conversation = spare.claim({ prompt: promptsOnceClaimed(claimed, prompts), options: { cwd } })
    await claimed
    return conversation
  }
  return {
    close: () => spare.close(),
    query: (prompts, cwd) =>
      claim(prompts, cwd).catch(error => {
        // A process that was called off meanwhile did not refuse the folder.
        if (!process.gate.closed) refused()
        // Our own tool server can serve one process at a time.
        spare.close()
        return startCold(error, { prompts, options: { ...options, cwd }, process })
      }),
  }
}

/** Holds prompts back until the process has taken on the session: otherwise they would be lost with a process that refuses. */
async function* promptsOnceClaimed(claimed: Promise<unknown>, prompts: PromptStream): AsyncGenerator<SDKUserMessage> {
  const isClaimed = await claimed.then(
    () => true,
    () => false,
  )
  if (isClaimed) yield* prompts
}

/**
 * Some settings of a project (its own model, agent or variables) are only read at the start, so the spare refuses the folder.
 * The cold start begins after the spare has ended, not beside it, because both carry the same marker.
 */
async function startCold(
  error: unknown,
  { prompts, options, process }: { prompts: PromptStream; options: Options; process: PreparedProcess },
): Promise<Query> {
  await process.agent.end()
  if (process.gate.closed) throw error
  return query({ prompt: prompts, options })
}
