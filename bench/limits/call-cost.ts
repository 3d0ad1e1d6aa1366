import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { openSimulator } from '../../src/simulator/open.ts'
import { agentEnv } from '../../test/support/world.ts'
import { race } from '../measure.ts'
import { openInstallation, run } from '../program.ts'
import type { BenchRow } from '../row.ts'

const ROUNDS = 5
const [FEW, MANY] = [2, 42] as const

/**
 * Our overhead for one tool call, including verdict and events: the difference between a task with many calls and one with
 * few (which excludes the start), with pcc and without.
 */
export async function benchCallCost(): Promise<BenchRow[]> {
  await using installation = await openInstallation()
  const { dir, dist } = installation
  const project = join(dir, 'project')
  mkdirSync(project)
  await using simulator = await openSimulator({ text: scenario() })
  const env = { ...installation.env, ...agentEnv(join(dir, 'home'), simulator.url) }
  const claude = createRequire(import.meta.url).resolve(
    `@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}/claude`,
  )
  await run(process.execPath, [dist, 'daemon', 'start'], { env, cwd: dir })
  const bare = (calls: number) => run(claude, ['-p', taskOf(calls), '--allowed-tools', 'Bash'], { env, cwd: project })
  const ours = (calls: number) =>
    run(process.execPath, [dist, 'start', project, '--task', taskOf(calls)], { env, cwd: dir })
  const times = await race(
    { bareFew: () => bare(FEW), bareMany: () => bare(MANY), oursFew: () => ours(FEW), oursMany: () => ours(MANY) },
    ROUNDS,
  )
  const perCall = {
    bare: (times.bareMany - times.bareFew) / (MANY - FEW),
    ours: (times.oursMany - times.oursFew) / (MANY - FEW),
  }
  const added = perCall.ours - perCall.bare
  return [
    {
      what: "what a tool call takes longer, the vendor's two round trips to us included",
      measured: `${added.toFixed(1)} ms (${perCall.ours.toFixed(1)} ms a call, bare ${perCall.bare.toFixed(1)} ms)`,
      ratio: perCall.ours / perCall.bare,
      budget: '–',
      ok: true,
    },
  ]
}

function taskOf(calls: number): string {
  return `Please make ${calls} calls`
}

function scenario(): string {
  const conversations = [FEW, MANY].map(calls => ({
    match: taskOf(calls),
    turns: [
      ...Array.from({ length: calls }, (_, index) => ({
        tools: [{ Bash: { command: `echo ${index}`, description: 'Count' } }],
      })),
      { text: 'Done.' },
    ],
  }))
  return JSON.stringify({ conversations })
}
