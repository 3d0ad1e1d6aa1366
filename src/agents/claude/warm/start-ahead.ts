import {
  type Options,
  prewarm,
  type Query,
  query,
  type SDKUserMessage,
  type SpawnOptions,
  startup,
} from '@anthropic-ai/claude-agent-sdk'
import type { Seat } from '../seat.ts'

/** A process that was started ahead of its session. */
export interface Ahead {
  /** Takes it for a session in a folder, which may be another one than it was started for. */
  query(prompts: Prompts, cwd: string): ReturnType<Seat['query']>
  /** Lets go of what the vendor's library holds; the process itself is its guardian's. */
  close(): void
}

type Prompts = AsyncIterable<SDKUserMessage>

/**
 * Starts a process ahead of its session. `startup` would read the project's instructions, skills and git state and run its
 * SessionStart hooks at once, and the task that works meanwhile changes all of them. A spare reads them when it is claimed,
 * so that its first request is that of a cold start, word for word. A conversation that is resumed cannot be claimed.
 */
export async function startAhead(
  options: Options,
  { seat, refused }: { seat: Omit<Seat, 'query'>; refused(): void },
): Promise<Ahead> {
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
  const claim = async (prompts: Prompts, cwd: string): Promise<Query> => {
    const talk = spare.claim({ prompt: whenTaken(claimed, prompts), options: { cwd } })
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
        return startInstead(error, { prompts, options: { ...options, cwd }, seat })
      }),
  }
}

/** Nothing is said to a process that has not taken the session on: what it was told would be lost with it. */
async function* whenTaken(claimed: Promise<unknown>, prompts: Prompts): AsyncGenerator<SDKUserMessage> {
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
async function startInstead(
  error: unknown,
  { prompts, options, seat }: { prompts: Prompts; options: Options; seat: Omit<Seat, 'query'> },
): Promise<Query> {
  await seat.agent.end()
  if (seat.gate.closed) throw error
  return query({ prompt: prompts, options })
}
