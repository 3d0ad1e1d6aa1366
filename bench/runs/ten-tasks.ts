import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundledProgram } from '../../src/agents/claude/bundled-program.ts'
import { openSimulator } from '../../src/simulator/open.ts'
import { agentEnv } from '../../test/support/world.ts'
import { median } from '../measure.ts'
import { openInstallation, run } from '../program.ts'
import type { BenchRow } from '../row.ts'
import { warmPeakMb } from './warm-peak.ts'

const ROUNDS = 5
const NAMES = ['alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot', 'golf', 'hotel', 'india', 'juliet']
const TURNS = 4

/** Ten scripted tasks through `pcc run`, one after the other, compared with ten bare `claude -p` with the same turns, model and environment. */
export async function benchRuns(): Promise<BenchRow[]> {
  await using installation = await openInstallation()
  const { dir, dist } = installation
  const project = join(dir, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'README.md'), '# sample\n')
  await using simulator = await openSimulator({ text: scenarioIn(project) })
  const env = { ...installation.env, ...agentEnv(join(dir, 'home'), simulator.url) }
  const pcc = (...args: string[]) => run(process.execPath, [dist, ...args], { env, cwd: dir })
  const claude = bundledProgram()
  const bare = async () => {
    for (const name of NAMES) {
      const flags = ['--permission-mode', 'acceptEdits', '--model', 'haiku']
      await run(claude, ['-p', taskOf(name), ...flags], { env, cwd: project })
    }
  }
  await pcc('daemon', 'start')
  const rounds: { bare: number; supervised: number }[] = []
  for (let round = 0; round <= ROUNDS; round += 1) {
    const before = simulator.requests.length
    const asked = { bare: await timed(project, bare), supervised: 0 }
    for (const name of NAMES) await pcc('task', 'add', taskOf(name), '--project', project)
    asked.supervised = await timed(project, () => pcc('run', project, '--model', 'haiku'))
    const answered = simulator.requests.length - before
    if (answered !== 2 * NAMES.length * TURNS) throw new Error(`the two did not take the same turns: ${answered}`)
    // The first fills caches.
    if (round > 0) rounds.push(asked)
  }
  // A process is started ahead where the one at work is not used again.
  const ahead = { ...env, PCC_EXECUTION_TASKS_PER_PROCESS: '1', PCC_EXECUTION_WARM_CORES: '0' }
  const early = (...args: string[]) => run(process.execPath, [dist, ...args], { env: ahead, cwd: dir })
  const peak = await warmPeakMb({ pcc: early, env, project, tasks: [taskOf('slow'), taskOf('alpha')] })
  const ratios = rounds.map(({ bare, supervised }) => supervised / bare)
  const ratio = median(ratios)
  const middle = (of: 'bare' | 'supervised') => median(rounds.map(round => round[of])).toFixed(0)
  return [
    {
      what: `ten tasks of ${TURNS} turns through pcc run, against ten bare claude -p`,
      measured: `${middle('supervised')} ms (bare ${middle('bare')} ms; best of ${ROUNDS}: ${Math.min(...ratios).toFixed(2)}×)`,
      ratio,
      budget: '≤ 0.5×',
      ok: ratio <= 0.5,
    },
    {
      what: 'the process that waits for the next task of a run: most memory',
      measured: `${peak.toFixed(0)} MB`,
      budget: '≤ 300 MB',
      ok: peak <= 300,
    },
  ]
}

/** Milliseconds, starting from a project without notes. */
async function timed(project: string, work: () => Promise<unknown>): Promise<number> {
  for (const name of NAMES) rmSync(join(project, `${name}.md`), { force: true })
  const started = performance.now()
  await work()
  return performance.now() - started
}

function taskOf(name: string): string {
  return `Write the note ${name}`
}

function scenarioIn(project: string): string {
  const turnsOf = (name: string) => [
    { text: 'I look first.', tools: [{ Read: { file_path: join(project, 'README.md') } }] },
    { tools: [{ Write: { file_path: join(project, `${name}.md`), content: 'A sample.\n' } }] },
    { tools: [{ Read: { file_path: join(project, `${name}.md`) } }] },
    { text: 'The note is written.' },
  ]
  const slow = { match: taskOf('slow'), turns: [{ text: 'That took long.', latency: 10_000 }] }
  return JSON.stringify({
    conversations: [slow, ...NAMES.map(name => ({ match: taskOf(name), turns: turnsOf(name) }))],
  })
}
