import { execFileSync } from 'node:child_process'
import type { TestContext } from 'node:test'
import type { TaskWork } from '../../../src/domain/merge.ts'
import type { RunDetail } from '../../../src/domain/run.ts'
import type { TaskView } from '../../../src/domain/task.ts'
import { openSimulator, type Simulator } from '../../../src/simulator/open.ts'
import { agentEnv, bareEnv, gitProject, tempDir } from '../../support/world.ts'
import type { DaemonProcess } from '../daemon-process.ts'

/** A git project with the real Claude Code and a scripted model, for any daemon. */
export interface RealWorld {
  simulator: Simulator
  project: string
  git(...args: string[]): string
  add(daemon: DaemonProcess, title: string, more?: object): Promise<string>
  /** Starts a run and returns its id. */
  begin(daemon: DaemonProcess, more?: object): Promise<string>
  /** Resolves with a run when it has ended. */
  over(daemon: DaemonProcess, id: string): Promise<RunDetail>
  task(daemon: DaemonProcess, id: string): Promise<TaskView>
  work(daemon: DaemonProcess, id: string): Promise<TaskWork>
}

/** Opens such a project with a scenario and files. */
export async function realWorld(t: TestContext, scenario: string, files: Record<string, string>): Promise<RealWorld> {
  const simulator = await openSimulator({ text: scenario })
  t.after(() => simulator.close())
  const project = gitProject(t, files)
  const env = agentEnv(tempDir(t, 'pcc-agent-home-'), simulator.url)
  const begin: RealWorld['begin'] = async (daemon, more = {}) => {
    const body = { project, target: { kind: 'project' }, env, ...more }
    const { status, body: run } = await daemon.call<RunDetail>('POST', '/runs', { body })
    if (status >= 400) throw new Error(JSON.stringify(run))
    return run.id
  }
  return {
    simulator,
    project,
    begin,
    git: (...args) => execFileSync('git', args, { cwd: project, env: bareEnv(project), encoding: 'utf8' }).trim(),
    add: async (daemon, title, more = {}) =>
      (await daemon.call<{ task: TaskView }>('POST', '/tasks', { body: { project, title, ...more } })).body.task.id,
    async over(daemon, id) {
      const stream = await daemon.stream('/events')
      const now = (await daemon.call<RunDetail>('GET', `/runs/${id}`)).body
      if (now.state !== 'ended') await stream.until(({ kind, subject }) => kind === 'run.ended' && subject === id)
      stream.close()
      return (await daemon.call<RunDetail>('GET', `/runs/${id}`)).body
    },
    task: async (daemon, id) => (await daemon.call<{ task: TaskView }>('GET', `/tasks/${id}`)).body.task,
    work: async (daemon, id) => (await daemon.call<TaskWork>('GET', `/tasks/${id}/work`)).body,
  }
}
