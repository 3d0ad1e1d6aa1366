import type { BenchRow } from '../row.ts'
import { openArena, type Round, rowsOf } from '../runs/against-bare.ts'
import { NO_OP_GATES, notesProject, onlyIn, type ProjectSize, taskOf } from './notes-project.ts'

interface Size {
  about: string
  size: ProjectSize
  rounds: number
}

/** The sizes of project that are measured, and how often. */
const SMALL: Size = { about: '', size: {}, rounds: 5 }
const LARGE: Size[] = [
  { about: ', in a repository of 5,000 files', size: { files: 5_000 }, rounds: 3 },
  { about: ', beside 290 MB of node_modules', size: { installed: 20_000 }, rounds: 3 },
]
const NAMES = ['alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot', 'golf', 'hotel', 'india', 'juliet']
const TURNS = 4

/**
 * Ten scripted tasks through `pcc run`, one after the other, each in a worktree, verified by a gate that does nothing and merged,
 * compared with ten bare `claude -p` with the same turns in the project itself.
 */
export function benchTenInWorktrees(): Promise<BenchRow[]> {
  return benchSize(SMALL)
}

/** The same where it takes long to write a worktree. */
export async function benchTenInLargeWorktrees(): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  for (const each of LARGE) rows.push(...(await benchSize(each)))
  return rows
}

async function benchSize({ about, size, rounds: count }: Size): Promise<BenchRow[]> {
  await using arena = await openArena(SCENARIO, NO_OP_GATES)
  const { dir, simulator, pcc, claude } = arena
  const project = notesProject(dir, size)
  const rounds: Round[] = []
  for (let round = 0; round <= count; round += 1) {
    const before = simulator.requests.length
    const measured = await arena.compare({
      async bare() {
        for (const name of NAMES)
          await claude(project.path, '-p', taskOf(name), '--permission-mode', 'acceptEdits', '--model', 'haiku')
      },
      supervised: () => pcc('run', project.path, '--model', 'haiku'),
      reset: project.reset,
      async prepare() {
        for (const name of NAMES) await pcc('task', 'add', taskOf(name), '--project', project.path)
      },
    })
    const answered = simulator.requests.length - before
    if (answered !== 2 * NAMES.length * TURNS) throw new Error(`the two did not take the same turns: ${answered}`)
    const there = project.git('ls-files', ':(top,glob)*.md').split('\n').length
    if (there !== NAMES.length + 1) throw new Error(`of ten notes ${there - 1} were merged`)
    // The first fills caches.
    if (round > 0) rounds.push(measured)
  }
  const what = `ten tasks of ${TURNS} turns through pcc run, each in a worktree, verified and merged${about}, against ten bare claude -p`
  return rowsOf(what, rounds, { time: 0.9 })
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
