import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { AppError } from '../../../base/errors.ts'
import { neutral } from '../../../base/neutral.ts'
import type { Proposal } from '../../../domain/feature.ts'
import type { ImportedTask, ImportReply, TaskMention } from '../../../domain/task-requests.ts'
import { formatOf, readTasks } from '../../../tasks/files/read-tasks.ts'
import { HAS_BOX, type TaskFormat } from '../../../tasks/files/task-text.ts'
import type { Client } from '../../connection/client.ts'
import type { CommandContext } from '../../context.ts'
import { confirm } from '../../input.ts'
import { counted, money } from '../../render/format.ts'
import type { Terminal } from '../../render/text.ts'
import { callerSettings, sessionEnvironment } from '../../session-env.ts'
import { taskLine } from './lines.ts'

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

/**
 * `pcc task create`: an agent proposes tasks, the person says yes, no or what to change, and the tasks are stored. What the agent asks
 * or assumes is in its remarks.
 */
export async function createTasks(
  text: string,
  options: CreateOptions,
  { client, context }: { client: Client; context: CommandContext },
): Promise<void> {
  const { json, out, note, terminal } = context
  note('An agent looks at the project and makes tasks of it. Nothing is stored before you say yes.')
  for (let wanted = text; ; ) {
    const request = await buildRequest(wanted, options, context)
    const proposal = await client.request<Proposal>('POST', '/tasks/propose', request)
    const printJson = (added: TaskMention[] | null) => json && out(JSON.stringify({ ...proposal, added }, null, 2))
    for (const line of proposalLines(proposal, terminal)) (json ? note : out)(line)
    if (options.dryRun) return void printJson(null)
    const change = await askToStore(proposal, { yes: options.yes === true, json }).catch(error => {
      printJson(null)
      throw error
    })
    if (change !== undefined) {
      note('The agent makes them again …')
      wanted = withChange(text, proposal, change)
      continue
    }
    const { project, tasks } = proposal
    const { tasks: added } = await client.request<ImportReply>('POST', '/tasks/import', { project, tasks })
    printJson(added)
    if (!json) for (const task of added) out(`Added ${taskLine({ ...task, verification: null })}`)
    return
  }
}

/** Returns what the person wants changed; undefined after a yes. */
function askToStore({ tasks }: Proposal, { yes, json }: { yes: boolean; json: boolean }): Promise<string | undefined> {
  const question = `Store ${counted(tasks.length, 'task')}?`
  const dialogue = json ? {} : { orSay: 'say what to change' }
  return confirm({ action: 'Storing what was proposed', question, yes, ...dialogue })
}

function withChange(text: string, { tasks }: Proposal, change: string): string {
  return [
    text,
    `You have proposed these tasks for it:\n${JSON.stringify(tasks)}`,
    `The person answers:\n${change}`,
    'Propose all of the tasks again, changed as the person says.',
  ].join('\n\n')
}

async function buildRequest(text: string, options: CreateOptions, { paths, env }: CommandContext): Promise<object> {
  const project = resolve(options.project ?? '.')
  const { feature, parent, after, agent, model } = options
  return {
    ...{
      project,
      text,
      env: await sessionEnvironment({ paths, env, project, agent }),
      ...callerSettings(paths, env),
    },
    ...(feature !== undefined && { feature }),
    ...(parent !== undefined && { parent }),
    ...(after && { after }),
    ...(agent !== undefined && { agent }),
    ...(model !== undefined && { model }),
  }
}

/** The proposal as a person reads it before confirming. */
function proposalLines({ tasks, remarks, model, cost_usd }: Proposal, { paint }: Terminal): string[] {
  const origin = [...(model === null ? [] : [neutral(model)]), money(cost_usd)].join(', ')
  return [
    `${counted(tasks.length, 'task')} proposed (${origin}):`,
    ...tasks.flatMap((task, index) => ['', ...proposedTaskLines(task, index + 1, paint)]),
    ...(remarks === '' ? [] : ['', paint('bold', 'Remarks:'), ...indented(remarks)]),
  ]
}

function proposedTaskLines(task: ImportedTask, number: number, paint: Terminal['paint']): string[] {
  const { id, title, description = '', acceptance = [], after = [], parent, priority = 0, labels = [] } = task
  const shownDescription = description.trim() === title.trim() ? '' : description.trim()
  const details = [
    ...(after.length > 0 ? [`after ${after.join(', ')}`] : []),
    ...(parent === undefined ? [] : [`part of ${parent}`]),
    ...(priority === 0 ? [] : [`priority ${priority}`]),
    ...labels.map(label => `#${label}`),
  ]
  return [
    paint('bold', `${number}. ${neutral(title)}${id === undefined ? '' : ` [${neutral(id)}]`}`),
    ...(details.length > 0 ? indented(details.join('  ')) : []),
    ...(shownDescription === '' ? [] : indented(shownDescription)),
    ...acceptance.flatMap(criterion => indented(`✓ ${criterion}`)),
  ]
}

function indented(text: string): string[] {
  return text.split('\n').map(line => (line.trim() === '' ? '' : `   ${neutral(line)}`))
}

/** Reads the tasks of a file, or of standard input. */
export async function readFileTasks(path: string, format: TaskFormat | undefined): Promise<ImportedTask[]> {
  const bytes = path === '-' ? await readStandardInputBytes() : readBytes(path)
  const text = decodeText(bytes, path)
  if (text.trim() === '') throw new AppError('tasks_wrong', { path, problems: 'it is empty' })
  return readTasks(text, format ?? formatOf(path) ?? guessFormat(text), path)
}

/** A larger file is not a list of tasks that a person made. */
const MAX_BYTES = 64_000_000

function guessFormat(text: string): TaskFormat {
  if (/^\s*\{/.test(text)) return 'jsonl'
  if (HAS_BOX.test(text) || /^(#+|[*+]|\d+[.)])[ \t]+\S/m.test(text)) return 'markdown'
  const isList = /^-[ \t]+\S/m.test(text) && !/^(\s*-[ \t]+)?\w+:(\s|$)/m.test(text)
  return isList ? 'markdown' : 'yaml'
}

async function readStandardInputBytes(): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

function readBytes(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    const problem = PROBLEMS[(error as NodeJS.ErrnoException).code ?? ''] ?? String(error)
    throw new AppError('tasks_unreadable', { path, problem }, error)
  }
}

function decodeText(bytes: Buffer, path: string): string {
  if (bytes.length > MAX_BYTES) throw new AppError('tasks_wrong', { path, problems: 'it is larger than 64 MB' })
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (!text.includes('\0')) return text
  } catch {
    // reported below, together with text that contains zero bytes
  }
  throw new AppError('tasks_wrong', { path, problems: 'it is not text in UTF-8' })
}

const PROBLEMS: Record<string, string> = {
  ENOENT: 'it does not exist.',
  EACCES: 'permission denied.',
  EISDIR: 'it is a directory.',
}
