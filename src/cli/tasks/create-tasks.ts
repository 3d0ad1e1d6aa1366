import { resolve } from 'node:path'
import type { Proposal } from '../../domain/tasks/proposal.ts'
import type { TaskMention } from '../../domain/tasks/requests.ts'
import type { Client } from '../client.ts'
import { confirm } from '../confirm.ts'
import type { Context } from '../context.ts'
import { counted } from '../render/format.ts'
import { callersSettings, sessionEnvironment } from '../session-env.ts'
import { proposalLines } from './proposal-lines.ts'
import { taskLine } from './words.ts'

export interface CreateOptions {
  project?: string
  feature?: string
  parent?: string
  after?: string[]
  agent?: string
  model?: string
  dryRun?: true
  yes?: true
}

/** The body of `pcc task create`: an agent proposes, the person says yes, the tasks are stored. */
export async function createTasks(
  text: string,
  options: CreateOptions,
  { client, context }: { client: Client; context: Context },
): Promise<void> {
  const { json, out, note, terminal } = context
  note('An agent looks at the project and makes tasks of it. Nothing is stored before you say yes.')
  const proposal = await client.request<Proposal>('POST', '/tasks/propose', await requestOf(text, options, context))
  const show = (added: TaskMention[] | null) => json && out(JSON.stringify({ ...proposal, added }, null, 2))
  for (const line of proposalLines(proposal, terminal)) (json ? note : out)(line)
  if (options.dryRun) return void show(null)
  const question = `Store ${counted(proposal.tasks.length, 'task')}?`
  try {
    await confirm({ action: 'Storing what was proposed', question, yes: options.yes === true })
  } catch (error) {
    show(null)
    throw error
  }
  const { project, tasks } = proposal
  const { tasks: added } = await client.request<{ tasks: TaskMention[] }>('POST', '/tasks/import', { project, tasks })
  show(added)
  if (!json) for (const task of added) out(`Added ${taskLine({ ...task, verification: null })}`)
}

async function requestOf(text: string, options: CreateOptions, { places, env }: Context): Promise<object> {
  const project = resolve(options.project ?? '.')
  const { feature, parent, after, agent, model } = options
  return {
    ...{
      project,
      text,
      env: await sessionEnvironment({ places, env, project, agent }),
      ...callersSettings(places, env),
    },
    ...(feature !== undefined && { feature }),
    ...(parent !== undefined && { parent }),
    ...(after && { after }),
    ...(agent !== undefined && { agent }),
    ...(model !== undefined && { model }),
  }
}
