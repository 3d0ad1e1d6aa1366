import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Agent, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setImmediate as soon } from 'node:timers/promises'
import { openApi } from '../../../src/daemon/api/server.ts'
import type { WebhookDelivery } from '../../../src/domain/webhook.ts'
import { readBranchTips } from '../../../src/workspace/git/refs.ts'
import { type ScriptedAgent, scriptedAgent } from '../../supervisor/session/scripted-agent.ts'
import { type ScriptedWorld, scriptedWorld } from '../../supervisor/session/scripted-world.ts'
import { gitProject } from '../../support/world.ts'
import { type ApiAnswer, callApi } from '../api/api-world.ts'
import {
  GITHUB_SECRET,
  githubPayload,
  type Payload,
  REPOSITORY,
  type SignedMessage,
  signedByGitHub,
} from './github-messages.ts'

export interface WebhookWorld {
  world: ScriptedWorld
  project: string
  post(name: string, message: SignedMessage): Promise<ApiAnswer>
  github(event: string, payload: Payload, how?: { delivery?: string; secret?: string }): Promise<ApiAnswer>
  /** All messages, the oldest first, when none waits any more. */
  worked(): Promise<WebhookDelivery[]>
}

/** The API as in the daemon, in this process, with webhooks. No run starts by itself unless the settings say so. */
export async function webhookWorld(
  t: TestContext,
  settings: Record<string, string> = {},
  agent: ScriptedAgent = scriptedAgent(),
): Promise<WebhookWorld> {
  const project = gitProject(t)
  const world = await scriptedWorld(t, agent, {
    PCC_WEBHOOKS_GITHUB_SECRET: GITHUB_SECRET,
    PCC_WEBHOOKS_GITHUB_REPOSITORIES: `${REPOSITORY}=${project},octo/other=/`,
    PCC_WEBHOOKS_START_RUNS: 'false',
    ...settings,
  })
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const door = { hosts: new Set([host]), origins: new Set<string>(), proxies: [], requestsPerMinute: 0 }
  const api = await openApi(world.daemon, { door, maxStreams: 10, queueSize: 1_000 })
  server.on('request', api.answer)
  t.after(async () => {
    connections.destroy()
    server.closeAllConnections()
    server.close()
    await api[Symbol.asyncDispose]()
    await world.daemon.webhooks.close()
  })
  const connections = new Agent({ keepAlive: true, maxSockets: 20 })
  const post: WebhookWorld['post'] = (name, { headers, raw }) =>
    callApi(`http://${host}`, undefined, {
      method: 'POST',
      path: `//webhook/${name}`,
      headers,
      raw,
      agent: connections,
    })
  return {
    ...{ world, project, post },
    github: async (event, payload, how) => post('github', await signedByGitHub(event, payload, how)),
    async worked() {
      while ((await world.store.webhooks.count()) > 0) await soon()
      return (await world.store.webhooks.list({ limit: 1_000 })).reverse()
    },
  }
}

/** An issue gets the label. */
export const labelled = (number: number, change: (payload: Payload) => void = () => {}) =>
  githubPayload('issues', 'labeled', payload => {
    Object.assign(payload.issue, { number, title: `issue ${number}` })
    payload.label.name = 'pcc'
    change(payload)
  })

/** A task whose work is done and stands on its branch. */
export async function doneTask(t: TestContext, settings: Record<string, string> = {}) {
  const agent = scriptedAgent((prompt, call, cwd) => {
    writeFileSync(join(cwd, 'work'), `${call} ${prompt.length}\n`)
    return {}
  })
  const made = await webhookWorld(t, { PCC_WEBHOOKS_START_RUNS: 'true', PCC_MERGE_MODE: 'off', ...settings }, agent)
  await made.world.supervisor.completion.lookAtAll()
  const over = new AbortController()
  const following = [made.world.supervisor.runs, made.world.supervisor.completion].map(part =>
    part.follow(0, over.signal).catch(() => undefined),
  )
  t.after(async () => {
    over.abort()
    await Promise.all(following)
  })
  await made.github('issues', labelled(7))
  await made.worked()
  const read = async () => (await made.world.store.tasks.list({}))[0]
  const done = async () => {
    while ((await read())?.state !== 'done') await soon()
    const task = await read()
    const session = await made.world.store.sessions.get(task?.session_id ?? '')
    return { task, session, tip: await tipOf(made, `pcc/${task?.id}`) }
  }
  return { ...made, agent, done, ...(await done()) }
}

async function tipOf({ project }: WebhookWorld, branch: string): Promise<string> {
  return (await readBranchTips(project, [branch])).get(branch) ?? ''
}

/** A failed check of a commit. */
export const failedCheck = (branch: string, head_sha: string, name = 'tests') =>
  githubPayload('check_run', 'completed', payload => {
    Object.assign(payload.check_run, { conclusion: 'failure', head_sha, name })
    payload.check_run.check_suite.head_branch = branch
  })

/** The pull request of a branch is merged. */
export const mergedPull = (branch: string) =>
  githubPayload('pull_request', 'closed', payload => {
    Object.assign(payload.pull_request, { merged: true, merge_commit_sha: 'd'.repeat(40) })
    payload.pull_request.head.ref = branch
  })
