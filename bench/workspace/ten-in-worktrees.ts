import { join } from 'node:path'
import { bundledProgram } from '../../src/agents/claude/bundled-program.ts'
import { openSimulator } from '../../src/simulator/open.ts'
import { agentEnv } from '../../test/support/world.ts'
import { median } from '../measure.ts'
import { openInstallation, run } from '../program.ts'
import type { BenchRow } from '../row.ts'
import { NO_OP_GATES, notesProject, onlyIn, type ProjectSize, taskOf } from './notes-project.ts'

/** The sizes of project that are measured, and how often. */
const SIZES: { about: string; size: ProjectSize; rounds: number }[] = [
  { about: '', size: {}, rounds: 5 },
  { about: ', in a repository of 5,000 files', size: { files: 5_000 }, rounds: 3 },
  { about: ', beside 290 MB of node_modules', size: { installed: 20_000 }, rounds: 3 },
]
const NAMES = ['alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot', 'golf', 'hotel', 'india', 'juliet']
const TURNS = 4

/**
 * Ten scripted tasks through `pcc run`, one after the other, each in a worktree, verified by a gate that does nothing and merged,
 * compared with ten bare `claude -p` with the same turns in the project itself.
 */
export async function benchTenInWorktrees(): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  for (const each of SIZES) rows.push(await benchSize(each))
  return rows
}

async function benchSize({ about, size, rounds: count }: (typeof SIZES)[number]): Promise<BenchRow> {
  await using installation = await openInstallation()
  const { dir, dist } = installation
  const project = notesProject(dir, size)
  await using simulator = await openSimulator({ text: SCENARIO })
  const env = { ...installation.env, ...agentEnv(join(dir, 'home'), simulator.url), ...NO_OP_GATES }
  const pcc = (...args: string[]) => run(process.execPath, [dist, ...args], { env, cwd: dir })
  const claude = bundledProgram()
  await pcc('daemon', 'start')
  const rounds: { bare: number; supervised: number }[] = []
  for (let round = 0; round <= count; round += 1) {
    const before = simulator.requests.length
    project.reset()
    const bare = await timed(async () => {
      for (const name of NAMES)
        await run(claude, ['-p', taskOf(name), '--permission-mode', 'acceptEdits', '--model', 'haiku'], {
          ...{ env, cwd: project.path },
        })
    })
    project.reset()
    for (const name of NAMES) await pcc('task', 'add', taskOf(name), '--project', project.path)
    const supervised = await timed(() => pcc('run', project.path, '--model', 'haiku'))
    const answered = simulator.requests.length - before
    if (answered !== 2 * NAMES.length * TURNS) throw new Error(`the two did not take the same turns: ${answered}`)
    const there = project.git('ls-files', ':(top,glob)*.md').split('\n').length
    if (there !== NAMES.length + 1) throw new Error(`of ten notes ${there - 1} were merged`)
    // The first fills caches.
    if (round > 0) rounds.push({ bare, supervised })
  }
  const ratio = median(rounds.map(({ bare, supervised }) => supervised / bare))
  const middle = (of: 'bare' | 'supervised') => median(rounds.map(round => round[of])).toFixed(0)
  return {
    what: `ten tasks of ${TURNS} turns through pcc run, each in a worktree, verified and merged${about}, against ten bare claude -p`,
    measured: `${middle('supervised')} ms (bare ${middle('bare')} ms)`,
    ratio,
    budget: '≤ 0.9×',
    ok: ratio <= 0.9,
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

const turnsOf = (name: string) => [
  { text: 'I look first.', tools: [{ Read: { file_path: '{{cwd}}/README.md' } }] },
  { tools: [{ Write: { file_path: `{{cwd}}/${name}.md`, content: 'A sample.\n' } }] },
  { tools: [{ Read: { file_path: `{{cwd}}/${name}.md` } }] },
  { text: 'The note is written.' },
]
const SCENARIO = JSON.stringify({
  conversations: NAMES.map(name => ({ match: onlyIn(name), turns: turnsOf(name) })),
})
