import * as z from 'zod'
import type { Clock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import { MAX_PROPOSED, type Proposal, ProposedTasks, type ProposeTasks } from '../../domain/feature.ts'
import { OPEN_STATES, type Task } from '../../domain/task.ts'
import { cleanText, type ImportedTask } from '../../domain/task-requests.ts'
import type { Store } from '../../store/store.ts'
import { tryImport } from '../../tasks/files/import-tasks.ts'
import { findTask } from '../../tasks/find-task.ts'
import { fenceText, firstTokens, jsonIn } from '../brief/prompt-text.ts'
import { checkProject } from '../context.ts'
import { type AskAgentDeps, askAgent } from './ask-agent.ts'

export interface ProposeDeps extends AskAgentDeps {
  store: Store
  clock: Clock
}

/** Of the tasks that are there already, the newest: who plans the next ones builds on those. */
const MOST_SHOWN = 200

/** What an agent makes of what a person describes: tasks that could be stored as they are. Nothing is stored. */
export async function proposeTasks(
  { text, feature, parent: parentRef, after: afterRefs = [], ...request }: ProposeTasks,
  deps: ProposeDeps,
  signal: AbortSignal,
): Promise<Proposal> {
  const { store } = deps
  const project = await checkProject(request.project)
  const parent = parentRef === undefined ? undefined : await findTask(parentRef, store)
  const after = await Promise.all(afterRefs.map(async ref => (await findTask(ref, store)).id))
  const place = { feature, parent: parent?.id, after }
  // What the person got wrong is said before an agent is paid for it.
  await tryImport(placed([{ title: 'a task' }], place), { project, copy: false }, deps)
  const open = (await store.tasks.list({ project, states: OPEN_STATES })).slice(-MOST_SHOWN)
  const prompt = proposalPrompt({ text: cleanText(text), feature, parent, open })
  const read = async (reply: string) => {
    const found = repliedTasks(reply)
    if ('problem' in found) return found
    const tasks = placed(found.tasks, place)
    const problem = await problemOf(tasks, project, deps)
    return problem === undefined ? { value: { tasks, remarks: found.remarks } } : { problem }
  }
  const { value, model, cost_usd } = await askAgent({ ...request, project }, { prompt, read }, { deps, signal })
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
async function problemOf(tasks: ImportedTask[], project: string, deps: ProposeDeps): Promise<string | undefined> {
  const numbered = tasks.map((task, index) => ({ ...task, line: index + 1 }))
  try {
    await tryImport(numbered, { project, copy: false }, deps)
    return undefined
  } catch (error) {
    if (!(error instanceof AppError) || error.http >= 500) throw error
    return `${error.message} ("line 2" is the second of your tasks.)`
  }
}

export interface ProposalInput {
  /** In the words of the person. */
  text: string
  feature: string | undefined
  parent: Task | undefined
  /** What is to be done in the project already. */
  open: readonly Pick<Task, 'id' | 'title' | 'state'>[]
}

const MOST_TEXT_TOKENS = 30_000
const MOST_LIST_TOKENS = 4_000

/** What an agent is told that is to make tasks of what somebody wants. */
function proposalPrompt({ text, feature, parent, open }: ProposalInput): string {
  return [
    `## What to do

Somebody describes below what they want done in this project. Make tasks of it: one where one agent can do it in one go, several where it is
more than that. You only plan. You may look around with Read, Grep and Glob, so that the tasks name the files, words and commands
of this project (look into AGENTS.md, CLAUDE.md or README.md for how it is built and tested); you cannot change anything, and nobody can be asked.

Every task is done later by another agent that sees nothing of this conversation: its description must stand alone.`,
    `## What is wanted${feature === undefined ? '' : ` (feature ${feature})`}\n\n${fenceText(firstTokens(text, MOST_TEXT_TOKENS))}`,
    ...(parent
      ? [
          `## It is a part of\n\n${fenceText(firstTokens(`${parent.title}\n\n${parent.description}`, MOST_LIST_TOKENS))}`,
        ]
      : []),
    ...(open.length > 0
      ? [
          `## Tasks that are there already\n\nDo not propose them again; others may come after them, by id.\n\n${fenceText(listed(open))}`,
        ]
      : []),
    REPLY,
  ].join('\n\n')
}

const REPLY = `## Your reply

Only a JSON object, nothing before or after it:

\`\`\`
{
  "tasks": [
    {
      "id": "schema",
      "title": "what to do, in one line of at most 200 characters",
      "description": "all that the agent needs to know",
      "acceptance": ["what must hold when it is done; best a command that passes"],
      "after": ["ids of tasks that must be done before"],
      "priority": 0
    }
  ],
  "remarks": "what you took for granted or left open, for the person; may be empty"
}
\`\`\`

At most ${MAX_PROPOSED} tasks. "id" is a short name within your reply. "after" names ids of your reply or of tasks that are there already, and must
not go round in a circle. Give every task at least one criterion. Leave "priority" at 0 unless something is more urgent (higher is sooner).`

function listed(open: ProposalInput['open']): string {
  return firstTokens(open.map(({ id, title, state }) => `${id} (${state}) ${title}`).join('\n'), MOST_LIST_TOKENS)
}
