import type { Proposal } from '../../domain/tasks/proposal.ts'
import type { ImportedTask } from '../../domain/tasks/requests.ts'
import { counted, money } from '../render/format.ts'
import type { Terminal } from '../render/paint.ts'
import { neutral } from '../render/text.ts'

/** What an agent proposes, as a person reads it before they say yes. */
export function proposalLines({ tasks, remarks, model, cost_usd }: Proposal, { paint }: Terminal): string[] {
  const by = [...(model === null ? [] : [neutral(model)]), money(cost_usd)].join(', ')
  return [
    `${counted(tasks.length, 'task')} proposed (${by}):`,
    ...tasks.flatMap((task, index) => ['', ...taskLines(task, index + 1, paint)]),
    ...(remarks === '' ? [] : ['', paint('bold', 'Remarks:'), ...indented(remarks)]),
  ]
}

function taskLines(task: ImportedTask, number: number, paint: Terminal['paint']): string[] {
  const { id, title, description = '', acceptance = [], after = [], parent, priority = 0, labels = [] } = task
  const said = description.trim() === title.trim() ? '' : description.trim()
  const details = [
    ...(after.length > 0 ? [`after ${after.join(', ')}`] : []),
    ...(parent === undefined ? [] : [`part of ${parent}`]),
    ...(priority === 0 ? [] : [`priority ${priority}`]),
    ...labels.map(label => `#${label}`),
  ]
  return [
    paint('bold', `${number}. ${neutral(title)}${id === undefined ? '' : ` [${neutral(id)}]`}`),
    ...(details.length > 0 ? indented(details.join('  ')) : []),
    ...(said === '' ? [] : indented(said)),
    ...acceptance.flatMap(criterion => indented(`✓ ${criterion}`)),
  ]
}

function indented(text: string): string[] {
  return text.split('\n').map(line => (line.trim() === '' ? '' : `   ${neutral(line)}`))
}
