import { createRequire } from 'node:module'
import { openSimulator, type Simulator } from '../src/simulator/open.ts'
import { race } from './measure.ts'

const ROUNDS = 5
const [FEW, MANY] = [2, 42] as const

/** The real Claude Code. */
export const CLAUDE = createRequire(import.meta.url).resolve(
  `@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}/claude`,
)

/** A model that makes the calls of `measureCalls`. */
export function openCallingModel(): Promise<Simulator> {
  const conversations = [FEW, MANY].map(calls => ({
    match: taskOf(calls),
    turns: [
      ...Array.from({ length: calls }, (_, index) => ({
        tools: [{ Bash: { command: `echo ${index}`, description: 'Count' } }],
      })),
      { text: 'Done.' },
    ],
  }))
  return openSimulator({ text: JSON.stringify({ conversations }) })
}

/** What one call takes in two ways to run a task: the difference between many calls and few, which excludes the start. */
export async function measureCalls(
  bare: (task: string) => Promise<unknown>,
  ours: (task: string) => Promise<unknown>,
): Promise<{ measured: string; ratio: number; addedMs: number }> {
  const [few, many] = [taskOf(FEW), taskOf(MANY)]
  const times = await race(
    { bareFew: () => bare(few), bareMany: () => bare(many), oursFew: () => ours(few), oursMany: () => ours(many) },
    ROUNDS,
  )
  const alone = (times.bareMany - times.bareFew) / (MANY - FEW)
  const held = (times.oursMany - times.oursFew) / (MANY - FEW)
  return {
    measured: `${(held - alone).toFixed(1)} ms (${held.toFixed(1)} ms a call, bare ${alone.toFixed(1)} ms)`,
    ratio: held / alone,
    addedMs: held - alone,
  }
}

function taskOf(calls: number): string {
  return `Please make ${calls} calls`
}
