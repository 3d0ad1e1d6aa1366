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
import { isUuid, secretId } from '../../base/ids.ts'
import { openGuard } from '../../base/process/guardian.ts'
import { claudeAgent } from '../../domain/agents/claude.ts'
import type { Driver, OpenSession } from '../../domain/session.ts'
import { AgentProcess, type DriverOptions } from '../agent-process.ts'
import { openAgentSandbox } from '../agent-sandbox.ts'
import { ASK_DEADLINE_MS } from '../checked-asks.ts'
import { bundledProgram } from './bundled-program.ts'
import { ClaudeGate } from './gate.ts'
import { optionsFor } from './options.ts'
import { ClaudeOwnTools } from './own-tools.ts'
import { noteLeaf, readTranscriptState, sandboxNeeds } from './past-sessions.ts'
import { type ClaudeProcess, ClaudeSession } from './session.ts'

const WARM_FOR_MS = 5 * 60_000
/** A parked call is offered again within a second of the start, or within a few seconds on a busy machine. */
const REOFFER_MS = 30_000

/** Drives Claude Code through the vendor's library. */
export function claudeDriver(driver: DriverOptions = {}): Driver {
  const { appendPrompt, log = () => undefined } = driver
  const executable = programOnce(driver.executable)
  const { askDeadlineMs = ASK_DEADLINE_MS, warmForMs = WARM_FOR_MS, reofferMs = REOFFER_MS } = driver
  const guard = openGuard()
  const pool = new WarmPool(warmForMs)
  const prepare = (open: OpenSession, { waits }: { waits: boolean }) => {
    const gate = new ClaudeGate(askDeadlineMs)
    const newSandbox = () => openAgentSandbox(sandboxNeeds(open), open, line => log(`session ${open.id}: ${line}`))
    const agent = new AgentProcess({
      ...{ manifest: claudeAgent, guard, isolation: open.isolation, cwd: open.cwd, waits },
      marker: open.marker ?? secretId(16),
      ...{ sandbox: newSandbox(), newSandbox },
    })
    const own = new ClaudeOwnTools(open.ownTools ?? [])
    if (open.resume) noteLeaf({ vendorId: open.resume.vendorId, cwd: open.cwd, env: open.env })
    const options = optionsFor(open, { gate, agent, own, executable: executable(), appendPrompt })
    return { process: { gate, agent, own, askDeadlineMs, reofferMs }, options }
  }
  const cold = (open: OpenSession) => {
    const { process, options } = prepare(open, { waits: false })
    return { ...process, query: (prompt: Parameters<typeof query>[0]['prompt']) => query({ prompt, options }) }
  }
  return {
    agent: 'claude',
    isVendorId: isUuid,
    conversationState: (vendorId, { cwd, env }) => readTranscriptState({ vendorId, cwd, env }),
    async open(open) {
      const warm = await pool.take(open)
      const level = `${guard.level(open.isolation)}${open.sandbox?.made ? ', sandbox' : ''}`
      log(`session ${open.id}: ${warm ? 'takes a warm process' : 'starts cold'} (${level})`)
      return new ClaudeSession(open, warm ?? cold(open))
    },
    // A deferred call is offered as soon as there is a process, and nobody would be there to answer it.
    warm: async open => (answersParked(open) ? undefined : pool.add(open, () => prepare(open, { waits: true }))),
    cool: open => pool.remove(open),
    close: () => pool.close(),
  }
}

function answersParked({ prompt, resume }: OpenSession): boolean {
  return resume !== undefined && prompt === undefined
}

/** Finds the program once. The vendor's library would search at every start, through a process report that takes 15 ms to write. */
function programOnce(executable: string | undefined): () => string | undefined {
  let program = executable
  return () => {
    try {
      program ??= bundledProgram()
    } catch {
      // The library searches by itself and reports what is missing.
    }
    return program
  }
}

/** A process that is started ahead of its session. */
interface WarmProcess {
  process: Omit<ClaudeProcess, 'query'>
  starting: Promise<WarmStart | undefined>
  timer: NodeJS.Timeout
}

/**
 * Processes that were started before their session is needed, one for each environment and set of options. A process that
 * nobody takes in time is ended, because it holds 170 MB; a process that died is not handed out.
 */
class WarmPool {
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
  async add(
    open: OpenSession,
    prepare: () => { process: Omit<ClaudeProcess, 'query'>; options: Options },
  ): Promise<void> {
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
    if (ready && alive && isInRightSandbox) return { ...warm.process, query: prompts => ready.query(prompts, open.cwd) }
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
  query(prompts: PromptStream, cwd: string): ReturnType<ClaudeProcess['query']>
  /** Releases what the vendor's library holds; the guardian ends the process itself. */
  close(): void
}

type PromptStream = AsyncIterable<SDKUserMessage>

/**
 * Starts a process ahead of its session. `startup` would read the project's instructions, skills and git state and run its
 * SessionStart hooks at once, while the task that is still running changes all of them. A spare reads them when it is claimed,
 * so its first request is word for word that of a cold start. A spare cannot be claimed for a resumed conversation.
 */
async function startWarm(
  options: Options,
  { process, refused }: { process: Omit<ClaudeProcess, 'query'>; refused(): void },
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
  { prompts, options, process }: { prompts: PromptStream; options: Options; process: Omit<ClaudeProcess, 'query'> },
): Promise<Query> {
  await process.agent.end()
  if (process.gate.closed) throw error
  return query({ prompt: prompts, options })
}
