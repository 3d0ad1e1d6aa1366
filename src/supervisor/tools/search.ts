import type { ToolReply } from '../../domain/tools/agent-tools.ts'
import type { ToolCall } from './caller.ts'

/** Of each kind; more is asked for with better words. */
const MOST_FOUND = 10

/** Looks for words in the tasks of the session's own project. */
export async function searchAll(query: string, { run, parts }: ToolCall): Promise<ToolReply> {
  const found = await parts.store.tasks.list({ project: run.row.project, text: query, limit: MOST_FOUND })
  const lines = found.map(
    ({ id, state, title, result }) => `${id} (${state}) ${title}${result ? `: ${firstLine(result)}` : ''}`,
  )
  if (lines.length === 0) return { ok: true, text: 'Nothing was found.' }
  return { ok: true, text: `Tasks:\n${lines.join('\n')}` }
}

const LONGEST = 300

function firstLine(text: string): string {
  return (text.trim().split('\n', 1)[0] ?? '').slice(0, LONGEST).toWellFormed()
}
