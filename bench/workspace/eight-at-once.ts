import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { bundledProgram } from '../../src/agents/claude/bundled-program.ts'
import { openSimulator } from '../../src/simulator/open.ts'
import { agentEnv } from '../../test/support/world.ts'
import { median } from '../measure.ts'
import { openInstallation, run } from '../program.ts'
import type { BenchRow } from '../row.ts'
import { NO_OP_GATES, notesProject, onlyIn, taskOf } from './notes-project.ts'

const ROUNDS = 5
const NAMES = ['alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot', 'golf', 'hotel']
const MODEL_MS = 2_000

/** Eight scripted tasks at once, each in a worktree, compared with eight bare `claude -p` at once. Merging is shown separately. */
export async function benchEightAtOnce(): Promise<BenchRow[]> {
  await using installation = await openInstallation()
  const { dir, dist } = installation
  const project = notesProject(dir)
  await using simulator = await openSimulator({ text: SCENARIO })
  const more = { ...NO_OP_GATES, PCC_SESSIONS_MAX_CONCURRENT: String(NAMES.length) }
  const env = { ...installation.env, ...agentEnv(join(dir, 'home'), simulator.url), ...more }
  const pcc = (...args: string[]) => run(process.execPath, [dist, ...args], { env, cwd: dir })
  const claude = bundledProgram()
  const flags = ['--permission-mode', 'acceptEdits', '--model', 'haiku']
  await pcc('daemon', 'start')
  const rounds: { bare: number; work: number; landing: number }[] = []
  for (let round = 0; round <= ROUNDS; round += 1) {
    project.reset()
    const begun = performance.now()
    await Promise.all(NAMES.map(name => run(claude, ['-p', taskOf(name), ...flags], { env, cwd: project.path })))
    const bare = performance.now() - begun
    project.reset()
    for (const name of NAMES) await pcc('task', 'add', taskOf(name), '--project', project.path)
    const started = Date.now()
    await pcc('run', project.path, '--parallel', String(NAMES.length), '--model', 'haiku')
    const worked = lastEnd(join(dir, 'home/.perpetualcc/data/perpetualcc.db'))
    const there = project.git('ls-files', '*.md').split('\n').length
    if (there !== NAMES.length + 1) throw new Error(`of eight notes ${there - 1} were merged`)
    // The first fills caches.
    if (round > 0) rounds.push({ bare, work: worked - started, landing: Date.now() - worked })
  }
  const ratio = median(rounds.map(({ bare, work }) => work / bare))
  const middle = (of: 'bare' | 'work' | 'landing') => median(rounds.map(round => round[of])).toFixed(0)
  return [
    {
      what: 'eight tasks at once with a model that takes 2 s, each in a worktree, against eight bare claude -p',
      measured: `${middle('work')} ms (bare ${middle('bare')} ms; until the last was verified and merged ${middle('landing')} ms more)`,
      ratio,
      budget: '≤ 1.1×',
      ok: ratio <= 1.1,
    },
  ]
}

/** When the last agent was done. */
function lastEnd(database: string): number {
  using db = new DatabaseSync(database, { readOnly: true })
  return Number(db.prepare('select max(ended_at) as at from sessions').get()?.['at'] ?? 0)
}

const turnsOf = (name: string) => [
  { tools: [{ Write: { file_path: `{{cwd}}/${name}.md`, content: 'A sample.\n' } }], latency: MODEL_MS },
  { text: 'The note is written.', latency: MODEL_MS },
]
const SCENARIO = JSON.stringify({
  conversations: NAMES.map(name => ({ match: onlyIn(name), turns: turnsOf(name) })),
})
