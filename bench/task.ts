import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { openSimulator } from '../src/simulator/open.ts'
import { agentEnv } from '../test/support/world.ts'
import { race } from './measure.ts'
import { openInstallation, run } from './program.ts'
import type { BenchRow } from './row.ts'

const ROUNDS = 15
const TASK = 'Write a short note about the project'

/** One scripted task through `pcc start`, compared with the bare agent with the same turns, tools and environment. */
export async function benchTask(): Promise<BenchRow[]> {
  await using installation = await openInstallation()
  const { dir, dist } = installation
  const project = join(dir, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'README.md'), '# sample\n')
  await using simulator = await openSimulator({ text: scenarioIn(project) })
  const env = { ...installation.env, ...agentEnv(join(dir, 'home'), simulator.url) }
  const claude = createRequire(import.meta.url).resolve(
    `@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}/claude`,
  )
  const note = join(project, 'NOTE.md')
  const fresh = () => rmSync(note, { force: true })
  await run(process.execPath, [dist, 'daemon', 'start'], { env, cwd: dir })
  const times = await race(
    {
      bare: async () => {
        fresh()
        await run(claude, ['-p', TASK, '--permission-mode', 'acceptEdits'], { env, cwd: project })
      },
      supervised: async () => {
        fresh()
        await run(process.execPath, [dist, 'start', project, '--task', TASK], { env, cwd: dir })
      },
    },
    ROUNDS,
  )
  const answered = simulator.requests.length / (2 * (ROUNDS + 1))
  if (answered !== TURNS)
    throw new Error(`the two did not take the same turns: ${answered} answers a task, not ${TURNS}`)
  const ratio = times.supervised / times.bare
  return [
    {
      what: `one task of ${TURNS} turns through pcc start, against bare claude -p`,
      measured: `${times.supervised.toFixed(0)} ms (bare ${times.bare.toFixed(0)} ms)`,
      ratio,
      budget: '≤ 1.1×',
      ok: ratio <= 1.1,
    },
  ]
}

const TURNS = 4

function scenarioIn(project: string): string {
  return JSON.stringify({
    conversations: [
      {
        match: TASK,
        turns: [
          { text: 'I look first.', tools: [{ Read: { file_path: join(project, 'README.md') } }] },
          { tools: [{ Write: { file_path: join(project, 'NOTE.md'), content: 'A sample.\n' } }] },
          { tools: [{ Read: { file_path: join(project, 'NOTE.md') } }] },
          { text: 'The note is written.' },
        ],
      },
    ],
  })
}
