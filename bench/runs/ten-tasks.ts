import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../program.ts'
import type { BenchRow } from '../row.ts'
import { openArena, type Round, rowsOf } from './against-bare.ts'
import { warmPeakMb } from './warm-peak.ts'

const ROUNDS = 5
const NAMES = ['alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot', 'golf', 'hotel', 'india', 'juliet']
const TURNS = 4

/** Ten scripted tasks through `pcc run`, one after the other, compared with ten bare `claude -p` with the same turns, model and environment. */
export async function benchRuns(): Promise<BenchRow[]> {
  const what = `ten tasks of ${TURNS} turns through pcc run, against ten bare claude -p`
  return [
    ...(await benchTen(what, { usesShell: false })),
    ...(await benchTen(`${what}, each with a command`, { usesShell: true })),
  ]
}

/** A task that only reads and writes files leaves its process to the next one; one that runs a command does not. */
async function benchTen(what: string, { usesShell }: { usesShell: boolean }): Promise<BenchRow[]> {
  await using arena = await openArena(scenario({ usesShell }))
  const { dir, dist, env, simulator, pcc, claude } = arena
  const project = join(dir, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'README.md'), '# sample\n')
  const rounds: Round[] = []
  for (let round = 0; round <= ROUNDS; round += 1) {
    const before = simulator.requests.length
    const measured = await arena.compare({
      async bare() {
        for (const name of NAMES)
          await claude(project, '-p', taskOf(name), '--permission-mode', 'acceptEdits', '--model', 'haiku')
      },
      supervised: () => pcc('run', project, '--model', 'haiku'),
      reset() {
        for (const name of NAMES) rmSync(join(project, `${name}.md`), { force: true })
      },
      async prepare() {
        for (const name of NAMES) await pcc('task', 'add', taskOf(name), '--project', project)
      },
    })
    const answered = simulator.requests.length - before
    if (answered !== 2 * NAMES.length * TURNS) throw new Error(`the two did not take the same turns: ${answered}`)
    // The first fills caches.
    if (round > 0) rounds.push(measured)
  }
  const rows = rowsOf(what, rounds, { time: 0.5 })
  if (!usesShell) return rows
  // A process is started ahead where the one at work is not used again.
  const ahead = { ...env, PCC_EXECUTION_TASKS_PER_PROCESS: '1', PCC_EXECUTION_WARM_CORES: '0' }
  const early = (...args: string[]) => run(process.execPath, [dist, ...args], { env: ahead, cwd: dir })
  const peak = await warmPeakMb({ pcc: early, env, project, tasks: [taskOf('slow'), taskOf('alpha')] })
  return [
    ...rows,
    {
      what: 'the process that waits for the next task of a run: most memory',
      measured: `${peak.toFixed(0)} MB`,
      budget: '≤ 300 MB',
      ok: peak <= 300,
    },
  ]
}

function taskOf(name: string): string {
  return `Write the note ${name}`
}

const turnsOf = (name: string, usesShell: boolean) => [
  { text: 'I look first.', tools: [{ Read: { file_path: '{{cwd}}/README.md' } }] },
  { tools: [{ Write: { file_path: `{{cwd}}/${name}.md`, content: 'A sample.\n' } }] },
  { tools: [usesShell ? { Bash: { command: `wc -l ${name}.md` } } : { Read: { file_path: `{{cwd}}/${name}.md` } }] },
  { text: 'The note is written.' },
]

function scenario({ usesShell }: { usesShell: boolean }): string {
  return JSON.stringify({
    conversations: [
      { match: taskOf('slow'), turns: [{ text: 'That took long.', latency: 10_000 }] },
      ...NAMES.map(name => ({ match: taskOf(name), turns: turnsOf(name, usesShell) })),
    ],
  })
}
