import type { Task } from '../../domain/task.ts'
import { MAX_PROPOSED } from '../../domain/tasks/proposal.ts'
import { fenced } from '../brief/fence.ts'
import { firstTokens } from '../brief/tokens.ts'

export interface Wanted {
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
export function proposalPrompt({ text, feature, parent, open }: Wanted): string {
  return [
    `## What to do

Somebody describes below what they want done in this project. Make tasks of it: one where one agent can do it in one go, several where it is
more than that. You only plan. You may look around with Read, Grep and Glob, so that the tasks name the files, words and commands
of this project (look into AGENTS.md, CLAUDE.md or README.md for how it is built and tested); you cannot change anything, and nobody can be asked.

Every task is done later by another agent that sees nothing of this conversation: its description must stand alone.`,
    `## What is wanted${feature === undefined ? '' : ` (feature ${feature})`}\n\n${fenced(firstTokens(text, MOST_TEXT_TOKENS))}`,
    ...(parent
      ? [`## It is a part of\n\n${fenced(firstTokens(`${parent.title}\n\n${parent.description}`, MOST_LIST_TOKENS))}`]
      : []),
    ...(open.length > 0
      ? [
          `## Tasks that are there already\n\nDo not propose them again; others may come after them, by id.\n\n${fenced(listed(open))}`,
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

function listed(open: Wanted['open']): string {
  return firstTokens(open.map(({ id, title, state }) => `${id} (${state}) ${title}`).join('\n'), MOST_LIST_TOKENS)
}
