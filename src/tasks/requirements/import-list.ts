import { basename } from 'node:path'
import { cleanLine, type ImportedTask } from '../../domain/tasks/requests.ts'
import { backgroundOf, type RequirementsFile } from './queue.ts'
import { inRunOrder } from './run-order.ts'

/**
 * The open tasks of a file as a project's own. Each is done in a conversation of its own, so what the file says besides them
 * stands above them as the task whose parts they are. A file that lists none is one task.
 */
export function importedFrom(file: RequirementsFile): ImportedTask[] {
  const { requirements } = file.parsed
  const name = cleanLine(requirements.title ?? '') || cleanLine(basename(file.path)) || 'Requirements'
  if (requirements.tasks.length === 0) return [{ ...titled(`${name}\n\n${file.text.trim()}`), id: WHOLE }]
  const open = inRunOrder(requirements.tasks)
  const background = backgroundOf(file)
  // The heading of the list alone is no background.
  const isSaying = background.split('\n').some(line => line.trim() !== '' && !/^#{1,6}\s/.test(line))
  const above = isSaying && open.length > 0
  const parts = open.map(
    ({ id, text, priority, depends_on, line }): ImportedTask => ({
      ...titled(text),
      id: id ?? `line ${line}`,
      ...(depends_on.length > 0 && { after: depends_on }),
      ...(priority !== 0 && { priority }),
      ...(above && { parent: WHOLE }),
      line,
    }),
  )
  return above ? [{ ...titled(`${name}\n\n${background}`), id: WHOLE }, ...parts] : parts
}

/** Its name within the import; none in a file has a space in front. */
const WHOLE = ' the whole file'

const MAX_TITLE = 200

/** The first line is the title; all of it is the description where there is more. */
function titled(text: string): Pick<ImportedTask, 'title' | 'description'> {
  const first = cleanLine(text.split('\n')[0] ?? '')
  const title = first.length > MAX_TITLE ? `${first.slice(0, MAX_TITLE - 1).trimEnd()}…` : first
  return text.trim() === title ? { title } : { title, description: text }
}
