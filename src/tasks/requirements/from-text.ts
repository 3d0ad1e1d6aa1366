import {
  emptyReading,
  parseConstraints,
  parseKeyValue,
  parsePreference,
  type RequirementsReading,
  type RequirementsSection,
  sectionNamed,
} from './reading.ts'

interface Item {
  text: string
  line: number
  /** The last line of the item. */
  to: number
}

/**
 * Reads plain text. "Tasks:", "Preferences:", "Constraints:" and "Overview:" begin a section, in which every line is one item and
 * indented lines belong to the one above. A text that is only a list is a list of tasks; any other text without a section "Tasks"
 * has no tasks, and is one task as a whole.
 */
export function fromText(source: string): RequirementsReading {
  const reading = emptyReading()
  const { requirements, taskLines } = reading
  const lines = source.split(/\r?\n/).map((text, index) => ({ text, line: index + 1 }))
  let section: RequirementsSection | undefined = isList(lines) ? 'tasks' : undefined
  const parts = new Map<RequirementsSection, Line[]>()
  const add = (name: RequirementsSection, line: Line) => parts.set(name, [...(parts.get(name) ?? []), line])
  for (const line of lines) {
    const label = parseLabel(line.text)
    if (label?.name === 'project') requirements.title = label.rest || undefined
    else if (label) {
      section = label.name
      if (section === 'tasks') taskLines.push([line.line, line.line])
      if (label.rest !== '') add(section, { text: label.rest, line: line.line })
    } else if (section) add(section, line)
  }
  for (const { text, line, to } of splitItems(parts.get('tasks') ?? [])) {
    const [, box, rest = text] = /^\[([ xX])\]\s+([\s\S]+)$/.exec(text) ?? []
    const done = box?.toLowerCase() === 'x'
    requirements.tasks.push({ text: rest, done, priority: 0, depends_on: [], line })
    taskLines.push([line, to])
  }
  const statements = (name: RequirementsSection) =>
    splitItems(parts.get(name) ?? []).map(({ text }) => text.replace(/\s+/g, ' '))
  requirements.preferences.push(...statements('preferences').map(parseKeyValue).map(parsePreference))
  requirements.constraints.push(...statements('constraints').flatMap(parseConstraints))
  const overview = parts
    .get('overview')
    ?.map(({ text }) => text)
    .join('\n')
    .trim()
  if (overview) requirements.overview = overview
  return reading
}

type Line = Omit<Item, 'to'>

function parseLabel(text: string): { name: RequirementsSection | 'project'; rest: string } | undefined {
  const [, label = '', rest = ''] = /^(\p{L}[\p{L} -]{0,20}):\s*(.*?)\s*$/u.exec(text) ?? []
  const name = label.toLowerCase() === 'project' ? 'project' : sectionNamed(label)
  return name && { name, rest }
}

function isList(lines: readonly Line[]): boolean {
  const written = lines.filter(({ text }) => text.trim() !== '' && !/^\s/.test(text))
  return written.length > 0 && written.every(({ text }) => BULLET.test(text))
}

const BULLET = /^([-*+•]|\d+[.)])\s+(?=\S)/

/** Where some lines have a bullet, lines without one continue the item above. */
function splitItems(lines: readonly Line[]): Item[] {
  const items: Item[] = []
  const hasBullets = lines.some(({ text }) => BULLET.test(text))
  for (const { text, line } of lines) {
    const last = items.at(-1)
    if (text.trim() === '') continue
    if (last && (/^\s/.test(text) || (hasBullets && !BULLET.test(text)))) {
      last.text += `\n${text.trim()}`
      last.to = line
    } else items.push({ text: text.trim().replace(BULLET, ''), line, to: line })
  }
  return items
}
