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
import { secretId } from '../../base/ids.ts'
import { openGuard } from '../../base/process/guardian.ts'
import type { Driver, OpenSession } from '../../domain/session.ts'
import { AgentProcess, type DriverOptions } from '../agent-process.ts'
import { claudeManifest } from '../manifests/claude.ts'
import { ClaudeGate } from './gate.ts'
import { bundledProgram, optionsFor } from './options.ts'
import { ClaudeOwnTools } from './own-tools.ts'
import { readTranscriptState } from './past-sessions.ts'
import { type ClaudeProcess, ClaudeSession } from './session.ts'

/** A person at a terminal may be away for a while; whoever asks decides sooner when to park. */
const ASK_DEADLINE_MS = 60 * 60_000
const WARM_FOR_MS = 5 * 60_000
/** A parked call is offered again within a second of the start, on a crowded machine in some. */
const REOFFER_MS = 30_000

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Drives Claude Code through the vendor's library. */
export function claudeDriver(driver: DriverOptions = {}): Driver {
  const { appendPrompt, log = () => undefined } = driver
  const executable = programOnce(driver.executable)
  const { askDeadlineMs = ASK_DEADLINE_MS, warmForMs = WARM_FOR_MS, reofferMs = REOFFER_MS } = driver
  const guard = openGuard()
  const pool = new WarmPool(warmForMs)
  const prepare = (open: OpenSession) => {
    const gate = new ClaudeGate(askDeadlineMs)
    const agent = new AgentProcess({
      ...{ manifest: claudeManifest, guard, isolation: open.isolation },
      marker: open.marker ?? secretId(16),
    })
    const own = new ClaudeOwnTools(open.ownTools ?? [])
    const options = optionsFor(open, { gate, agent, own, executable: executable(), appendPrompt })
    return { seat: { gate, agent, own, askDeadlineMs, reofferMs }, options }
  }
  const cold = (open: OpenSession) => {
    const { seat, options } = prepare(open)
    return { ...seat, query: (prompt: Parameters<typeof query>[0]['prompt']) => query({ prompt, options }) }
  }
  return {
    agent: 'claude',
    isVendorId: id => UUID.test(id),
    conversationState: (vendorId, { cwd, env }) => readTranscriptState({ vendorId, cwd, env }),
    async open(open) {
      const warm = await pool.take(open)
      log(`session ${open.id}: ${warm ? 'takes a warm process' : 'starts cold'} (${guard.level(open.isolation)})`)
      return new ClaudeSession(open, warm ?? cold(open))
    },
    // A call that was put off is offered as soon as there is a process, and nobody would be there to answer it.
    warm: async open => (answersParked(open) ? undefined : pool.add(open, () => prepare(open))),
    cool: open => pool.remove(open),
    close: () => pool.close(),
  }
}

function answersParked({ prompt, resume }: OpenSession): boolean {
  return resume !== undefined && prompt === undefined
}

/** The vendor's library would look for it at every start, in a report on the whole process that takes 15 ms to write. */
function programOnce(executable: string | undefined): () => string | undefined {
  let found = executable
  return () => {
    try {
      found ??= bundledProgram()
    } catch {
      // It looks for itself, and tells what is missing.
    }
    return found
  }
}

/** A seat whose process is started ahead of its session. */
interface WarmProcess {
  seat: Omit<ClaudeProcess, 'query'>
  starting: Promise<WarmStart | undefined>
  timer: NodeJS.Timeout
}

/**
 * Processes that were started before their task is known to be next, one for each environment and options. One that
 * nobody takes in time is ended, because it holds 170 MB; one that died is not handed out.
 */
class WarmPool {
  readonly #waiting = new Map<string, WarmProcess>()
  /** With the marker of each: what is started with the same one must wait, or the sweep would take it along. */
  readonly #ending = new Map<Promise<void>, string>()
  /** Folders that no process takes on after its start. */
  readonly #refusing = new Set<string>()
  readonly #keepMs: number
  #closed = false

  constructor(keepMs: number) {
    this.#keepMs = keepMs
  }

  /** Starts a process unless one waits already; resolves when it is ready. A start that fails is the cold start's to tell. */
  async add(open: OpenSession, prepare: () => { seat: Omit<ClaudeProcess, 'query'>; options: Options }): Promise<void> {
    const key = keyOf(open)
    // Not a step later than it must: whoever calls it off in the same breath finds it.
    if (this.#isEnding(open.marker)) await this.#gone(open.marker)
    if (this.#closed || this.#waiting.has(key) || this.#refusing.has(open.cwd)) return
    const { seat, options } = prepare()
    const starting = startWarm(options, { seat, refused: () => this.#refusing.add(open.cwd) }).catch(() => undefined)
    const timer = setTimeout(() => this.#discard(key), this.#keepMs).unref()
    this.#waiting.set(key, { seat, starting, timer })
    if (!(await starting)) await this.#discard(key)
  }

  /**
   * The waiting process that fits, if it is alive. One with the same marker that does not fit is ended first: its end sweeps
   * everything that carries the marker, and that would be the new session's process too.
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
    if (ready && warm.seat.agent.alive) return { ...warm.seat, query: prompts => ready.query(prompts, open.cwd) }
    await this.#end(warm)
    return undefined
  }

  /** Ends the one that waits for these options, and whatever else was started for the same session. */
  async remove(open: OpenSession): Promise<void> {
    await this.#discard(keyOf(open))
    await this.#discardMarked(open.marker)
  }

  /** Ends all that wait; resolves when they are gone. */
  async close(): Promise<void> {
    this.#closed = true
    for (const key of [...this.#waiting.keys()]) void this.#discard(key)
    await Promise.all(this.#ending.keys())
  }

  #isEnding(marker: string | undefined): boolean {
    return [...this.#ending.values()].some(of => of === marker)
  }

  async #gone(marker: string | undefined): Promise<void> {
    await Promise.all([...this.#ending].map(([ended, of]) => (of === marker ? ended : undefined)))
  }

  async #discardMarked(marker: string | undefined): Promise<void> {
    for (const [key, { seat }] of this.#waiting) {
      if (seat.agent.marker.value === marker) await this.#discard(key)
    }
  }

  async #discard(key: string): Promise<void> {
    const warm = this.#waiting.get(key)
    this.#waiting.delete(key)
    if (warm) await this.#end(warm)
  }

  #end({ seat, starting, timer }: WarmProcess): Promise<void> {
    clearTimeout(timer)
    seat.gate.close()
    const ended = seat.agent
      .end()
      .then(() => starting)
      .then(ready => ready?.close())
      // One that will not die is the guardian's to report; the pool must not fail for it.
      .catch(() => undefined)
      .finally(() => this.#ending.delete(ended))
    this.#ending.set(ended, seat.agent.marker.value)
    return ended
  }
}

/** All that is fixed when the process starts, which the folder is not, but of a conversation that is resumed. Hashed: it holds secrets. */
function keyOf(open: OpenSession): string {
  const { id: _id, prompt: _prompt, mayBegin: _mayBegin, asks: _asks, record: _record, env, ...fixed } = open
  return createHash('sha256')
    .update(JSON.stringify([sorted(env), sorted(open.resume ? fixed : { ...fixed, cwd: undefined })]))
    .digest('hex')
}

/** What is not said is the same as what is said to be nothing. */
function sorted(of: Record<string, unknown>): [string, unknown][] {
  return Object.entries(of)
    .filter(([, value]) => value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/** A process that was started ahead of its session. */
interface WarmStart {
  /** Takes it for a session in a folder, which may be another one than it was started for. */
  query(prompts: PromptStream, cwd: string): ReturnType<ClaudeProcess['query']>
  /** Lets go of what the vendor's library holds; the process itself is its guardian's. */
  close(): void
}

type PromptStream = AsyncIterable<SDKUserMessage>

/**
 * Starts a process ahead of its session. `startup` would read the project's instructions, skills and git state and run its
 * SessionStart hooks at once, and the task that works meanwhile changes all of them. A spare reads them when it is claimed,
 * so that its first request is that of a cold start, word for word. A conversation that is resumed cannot be claimed.
 */
async function startWarm(
  options: Options,
  { seat, refused }: { seat: Omit<ClaudeProcess, 'query'>; refused(): void },
): Promise<WarmStart> {
  if (options.resume !== undefined) {
    const warm = await startup({ options })
    return { query: prompts => warm.query(prompts), close: () => warm.close() }
  }
  const { cwd: _, ...rest } = options
  // It makes a directory first, and may be called off meanwhile.
  const spawn = (wanted: SpawnOptions) => {
    if (seat.gate.closed) throw new Error('it is not needed any more')
    return seat.agent.spawn(wanted)
  }
  const spare = await prewarm({ options: { ...rest, spawnClaudeCodeProcess: spawn } })
  const exited = spare.exited.then(() => {
    throw new Error('it ended before it was claimed')
  })
  const claimed = Promise.race([spare.claimed, exited])
  claimed.catch(() => undefined) // whoever claims it hears of it
  const claim = async (prompts: PromptStream, cwd: string): Promise<Query> => {
    const talk = spare.claim({ prompt: promptsOnceClaimed(claimed, prompts), options: { cwd } })
    await claimed
    return talk
  }
  return {
    close: () => spare.close(),
    query: (prompts, cwd) =>
      claim(prompts, cwd).catch(error => {
        // One that was called off meanwhile has refused nothing.
        if (!seat.gate.closed) refused()
        // Our own server can serve one process at a time.
        spare.close()
        return startCold(error, { prompts, options: { ...options, cwd }, seat })
      }),
  }
}

/** Nothing is said to a process that has not taken the session on: what it was told would be lost with it. */
async function* promptsOnceClaimed(claimed: Promise<unknown>, prompts: PromptStream): AsyncGenerator<SDKUserMessage> {
  const isTaken = await claimed.then(
    () => true,
    () => false,
  )
  if (isTaken) yield* prompts
}

/**
 * Some settings of a project (its own model, agent or variables) are only read at the start, so the spare refuses the
 * folder. The cold start takes its place; not beside it, because they carry the same marker.
 */
async function startCold(
  error: unknown,
  { prompts, options, seat }: { prompts: PromptStream; options: Options; seat: Omit<ClaudeProcess, 'query'> },
): Promise<Query> {
  await seat.agent.end()
  if (seat.gate.closed) throw error
  return query({ prompt: prompts, options })
}
