import { setTimeout as sleep } from 'node:timers/promises'
import type { DaemonRunner } from './fixture/daemon-runner.ts'
import type { RoundFixture } from './fixture/open-fixture.ts'
import { allOf, openRead } from './history.ts'
import { type RunWork, settingsOf } from './plan/run-plan.ts'
import { taskText } from './plan/scenario.ts'

const LOOK_MS = 120
const START_MS = 150_000

/** Submits the tasks of a run and starts it, as a person would. If the daemon dies during a call, the call is repeated unless it took effect. */
export async function startRun(
  run: RunWork,
  { fixture, runner, complaints }: { fixture: RoundFixture; runner: DaemonRunner; complaints: string[] },
): Promise<void> {
  const project = fixture.projectOf(run)
  const end = Date.now() + START_MS
  const post = async (path: string, body: object) => {
    const { status, body: reply } = await runner.call('POST', path, body)
    if (status >= 400 && status < 500) complaints.push(`${path} was refused: ${JSON.stringify(reply)}`)
  }
  while (Date.now() < end) {
    try {
      await runner.up()
      const missing = findMissing(run, project, fixture)
      const [token] = missing.tokens
      if (token === undefined && !missing.run) return
      if (token !== undefined) await post('/tasks', { project, title: taskText(token) })
      else {
        const env = fixture.agentEnvOf(run)
        const asks = { target: { kind: 'project' }, parallel: run.parallel, max_retries: 5 }
        await post('/runs', { project, ...asks, env, settings: settingsOf(run) })
      }
    } catch {
      await sleep(LOOK_MS) // the daemon died during the call
    }
  }
  complaints.push('the run could not be started')
}

function findMissing({ tasks }: RunWork, project: string, { paths }: RoundFixture): { tokens: string[]; run: boolean } {
  using db = openRead(paths.database)
  const titles = allOf<{ title: string }>(db, 'select title from tasks').map(({ title }) => title)
  const runs = allOf<{ project: string }>(db, 'select project from runs')
  return {
    tokens: tasks.map(({ token }) => token).filter(token => !titles.includes(taskText(token))),
    run: !runs.some(row => row.project === project),
  }
}
