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

/** Only the newest open tasks are shown: new tasks build on those. */
const MAX_OPEN_TASKS = 200

/** Lets an agent propose tasks for what a person describes. They could be stored as they are, but nothing is stored. */
export async function proposeTasks(
  { text, feature, parent: parentRef, after: afterRefs = [], ...request }: ProposeTasks,
  deps: ProposeDeps,
  signal: AbortSignal,
): Promise<Proposal> {
  const { store } = deps
  const project = await checkProject(request.project)
  const parent = parentRef === undefined ? undefined : await findTask(parentRef, store, { project })
  const after = await Promise.all(afterRefs.map(async ref => (await findTask(ref, store, { project })).id))
  const placement = { feature, parent: parent?.id, after }
  // A mistake of the person is reported before an agent is paid.
  await tryImport(applyPlacement([{ title: 'a task' }], placement), { project, copy: false }, deps)
  const open = (await store.tasks.list({ project, states: OPEN_STATES })).slice(-MAX_OPEN_TASKS)
  const prompt = proposalPrompt({ text: cleanText(text), feature, parent, open })
  const read = async (reply: string) => {
    const proposed = readTasks(reply)
    if ('problem' in proposed) return proposed
    const tasks = applyPlacement(proposed.tasks, placement)
    const problem = await findProblem(tasks, project, deps)
    return problem === undefined ? { value: { tasks, remarks: proposed.remarks } } : { problem }
  }
  const { value, model, cost_usd } = await askAgent({ ...request, project }, { prompt, read }, { deps, signal })
  return { project, ...value, model, cost_usd }
}

function readTasks(reply: string): { tasks: ImportedTask[]; remarks: string } | { problem: string } {
  const json = jsonIn(reply)
  if (json === undefined) return { problem: 'there is no JSON object in it.' }
  const { data, error } = ProposedTasks.safeParse(json)
  if (!data) return { problem: z.prettifyError(error).slice(0, MAX_PROBLEM) }
  return { tasks: data.tasks, remarks: cleanText(data.remarks ?? '').trim() }
}

const MAX_PROBLEM = 2_000

/**
 * Puts tasks into the feature and under the parent that the person named. A task without a parent and without blockers of its own
 * comes after the tasks that the person named.
 */
function applyPlacement(
  tasks: readonly ImportedTask[],
  { feature, parent, after }: Pick<ImportedTask, 'feature' | 'parent'> & { after: string[] },
): ImportedTask[] {
  return tasks.map(task => {
    const isFirst = task.parent === undefined && (task.after ?? []).length === 0
    const parentId = task.parent ?? parent
    return {
      ...task,
      ...(feature !== undefined && { feature }),
      ...(parentId !== undefined && { parent: parentId }),
      ...(isFirst && after.length > 0 && { after }),
    }
  })
}

/** Why the tasks cannot be stored; undefined if they can. */
async function findProblem(tasks: ImportedTask[], project: string, deps: ProposeDeps): Promise<string | undefined> {
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
  /** What is wanted, in the person's words. */
  text: string
  feature: string | undefined
  parent: Task | undefined
  /** The open tasks of the project. */
  open: readonly Pick<Task, 'id' | 'title' | 'state'>[]
}

const MAX_TEXT_TOKENS = 30_000
const MAX_LIST_TOKENS = 4_000

/** The prompt of an agent that proposes tasks. */
function proposalPrompt({ text, feature, parent, open }: ProposalInput): string {
  return [
    `## What to do

Somebody describes below what they want done in this project. Turn it into tasks: one if one agent can do it in one session, else
several. You only plan. You may look around with Read, Grep and Glob, so that the tasks name the files, words and commands
of this project (AGENTS.md, CLAUDE.md or README.md say how it is built and tested); you cannot change anything, and nobody can be asked.

Another agent that sees nothing of this conversation does each task later: its description must be complete.`,
    `## What is wanted${feature === undefined ? '' : ` (feature ${feature})`}\n\n${fenceText(firstTokens(text, MAX_TEXT_TOKENS))}`,
    ...(parent
      ? [
          `## The task that it is a part of\n\n${fenceText(firstTokens(`${parent.title}\n\n${parent.description}`, MAX_LIST_TOKENS))}`,
        ]
      : []),
    ...(open.length > 0
      ? [
          `## Tasks that exist already\n\nDo not propose them again; yours may come after them, by id.\n\n${fenceText(formatTasks(open))}`,
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
      "acceptance": ["what must hold when it is done; a command that passes is best"],
      "after": ["ids of tasks that must be done before"],
      "priority": 0
    }
  ],
  "remarks": "what you assumed or left open, for the person; may be empty"
}
\`\`\`

At most ${MAX_PROPOSED} tasks. "id" is a short name within your reply. "after" names ids of your reply or of existing tasks, and must
not form a circle. Give every task at least one criterion. Leave "priority" at 0 unless something is more urgent (higher is sooner).`

function formatTasks(open: ProposalInput['open']): string {
  return firstTokens(open.map(({ id, title, state }) => `${id} (${state}) ${title}`).join('\n'), MAX_LIST_TOKENS)
}
