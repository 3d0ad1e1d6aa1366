import * as z from 'zod'
import type { Clock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import { OPEN_STATES } from '../../domain/task.ts'
import { type Proposal, ProposedTasks, type ProposeTasks } from '../../domain/tasks/proposal.ts'
import { cleanText, type ImportedTask } from '../../domain/tasks/requests.ts'
import type { Store } from '../../store/store.ts'
import { tryImport } from '../../tasks/files/try-import.ts'
import { findTask } from '../../tasks/find-task.ts'
import { checkProject } from '../start/check-project.ts'
import { type AgentParts, askAgent } from './ask-agent.ts'
import { jsonIn } from './json-in.ts'
import { proposalPrompt } from './prompt.ts'

export interface ProposalParts extends AgentParts {
  store: Store
  clock: Clock
}

/** Of the tasks that are there already, the newest: who plans the next ones builds on those. */
const MOST_SHOWN = 200

/** What an agent makes of what a person describes: tasks that could be stored as they are. Nothing is stored. */
export async function proposeTasks(
  { text, feature, parent: parentRef, after: afterRefs = [], ...request }: ProposeTasks,
  parts: ProposalParts,
  signal: AbortSignal,
): Promise<Proposal> {
  const { store } = parts
  const project = await checkProject(request.project)
  const parent = parentRef === undefined ? undefined : await findTask(parentRef, store)
  const after = await Promise.all(afterRefs.map(async ref => (await findTask(ref, store)).id))
  const place = { feature, parent: parent?.id, after }
  // What the person got wrong is said before an agent is paid for it.
  await tryImport(placed([{ title: 'a task' }], place), { project, copy: false }, parts)
  const open = (await store.tasks.list({ project, states: OPEN_STATES })).slice(-MOST_SHOWN)
  const prompt = proposalPrompt({ text: cleanText(text), feature, parent, open })
  const read = async (reply: string) => {
    const found = repliedTasks(reply)
    if ('problem' in found) return found
    const tasks = placed(found.tasks, place)
    const problem = await problemOf(tasks, project, parts)
    return problem === undefined ? { value: { tasks, remarks: found.remarks } } : { problem }
  }
  const { value, model, cost_usd } = await askAgent({ ...request, project }, { prompt, read }, { parts, signal })
  return { project, ...value, model, cost_usd }
}

function repliedTasks(reply: string): { tasks: ImportedTask[]; remarks: string } | { problem: string } {
  const json = jsonIn(reply)
  if (json === undefined) return { problem: 'there is no JSON object in it.' }
  const { data, error } = ProposedTasks.safeParse(json)
  if (!data) return { problem: z.prettifyError(error).slice(0, LONGEST_PROBLEM) }
  return { tasks: data.tasks, remarks: cleanText(data.remarks ?? '').trim() }
}

const LONGEST_PROBLEM = 2_000

/** Into the feature and under the task that the person named; what comes after none of the others comes after what they named. */
function placed(
  tasks: readonly ImportedTask[],
  { feature, parent, after }: Pick<ImportedTask, 'feature' | 'parent'> & { after: string[] },
): ImportedTask[] {
  return tasks.map(task => {
    const isFirst = task.parent === undefined && (task.after ?? []).length === 0
    const above = task.parent ?? parent
    return {
      ...task,
      ...(feature !== undefined && { feature }),
      ...(above !== undefined && { parent: above }),
      ...(isFirst && after.length > 0 && { after }),
    }
  })
}

/** What keeps them from being stored, if anything does. */
async function problemOf(tasks: ImportedTask[], project: string, parts: ProposalParts): Promise<string | undefined> {
  const numbered = tasks.map((task, index) => ({ ...task, line: index + 1 }))
  try {
    await tryImport(numbered, { project, copy: false }, parts)
    return undefined
  } catch (error) {
    if (!(error instanceof AppError) || error.http >= 500) throw error
    return `${error.message} ("line 2" is the second of your tasks.)`
  }
}
