import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { bundledProgram } from '../../src/agents/claude/bundled-program.ts'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { openSimulator } from '../../src/simulator/open.ts'
import { agentEnv, makeRepository } from '../../test/support/world.ts'
import { openInstallation, run } from '../program.ts'
import type { BenchRow } from '../row.ts'

const TASKS = 1_000

/** The bytes of the first request of a task, without its brief, against a bare `claude -p`: at the first task of a project and at the thousandth. */
export async function benchPrompts(): Promise<BenchRow[]> {
  await using installation = await openInstallation()
  const { dir, dist } = installation
  const project = join(dir, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'README.md'), '# sample\n')
  makeRepository(project)
  const scenario = {
    conversations: [{ match: 'note', turns: [{ text: 'All done.' }], otherwise: { text: 'All done.' } }],
  }
  await using simulator = await openSimulator({ text: JSON.stringify(scenario) })
  const env = {
    ...{ ...installation.env, ...agentEnv(join(dir, 'home'), simulator.url) },
    ...{ PCC_KNOWLEDGE_ENABLED: 'true', PCC_MEMORY_ENABLED: 'true' },
  }
  const pcc = (...args: string[]) => run(process.execPath, [dist, ...args], { env, cwd: project })
  await run(bundledProgram(), ['-p', 'Write the note', '--model', 'haiku'], { env, cwd: project })
  const bare = simulator.requests.at(-1)?.bytes ?? Number.NaN
  const supervised = async (name: string) => {
    await pcc('task', 'add', `Write the note ${name}`)
    await pcc('run', '.', '--model', 'haiku')
    const request = simulator.requests.findLast(({ prompt }) => prompt.includes(`Write the note ${name}`))
    if (!request) throw new Error(`the task ${name} reached no model`)
    return { all: request.bytes, brief: Buffer.byteLength(JSON.stringify(request.prompt)) }
  }
  const first = await supervised('first')
  await pcc('daemon', 'stop')
  addPast(appPathsFor({ env }).database)
  const last = await supervised('last')
  const row = (when: string, { all, brief }: typeof first): BenchRow => ({
    what: `the first request of a task without its brief, against bare claude -p, ${when}`,
    measured: `${all - brief} bytes and a brief of ${brief} (bare ${bare})`,
    ratio: (all - brief) / bare,
    budget: '≤ 1.05×',
    ok: (all - brief) / bare <= 1.05,
  })
  return [
    row('task 1', first),
    row(`task ${TASKS}`, last),
    {
      what: `growth of the brief from task 1 to task ${TASKS} of a project`,
      measured: `${last.brief - first.brief} bytes`,
      budget: '≤ 3,600 bytes',
      ok: last.brief - first.brief <= 3_600,
    },
  ]
}

/** Copies the task and the attempt that there are, so that the next task is the thousandth; half of them have something to say. */
function addPast(file: string): void {
  const db = new DatabaseSync(file)
  try {
    const count = `with recursive n(n) as (select 2 union all select n + 1 from n where n < ${TASKS - 1})`
    db.exec(`begin; ${count} insert into attempts (task_id, number, run_id, iteration, session_id, started_at, title)
      select printf('t-%06x', n), 1, run_id, n, session_id, started_at, 'Write the note ' || n from attempts join n on attempts.outcome is not null;
      update attempts set outcome = 'done', ended_at = started_at + 60000, files = '["notes.md"]',
        notes = iif(iteration % 2, 'All done.', 'Notes need a date in line ' || iteration || '.') where outcome is null; commit`)
  } finally {
    db.close()
  }
}
