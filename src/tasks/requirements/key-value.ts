import type { Preference } from '../../domain/brain/requirements.ts'

/** "Database: PostgreSQL" or "Database = PostgreSQL"; a sentence has no key. */
export function keyValue(line: string): Preference {
  const text = line.trim()
  // Not the colon of an address, a time or `node:test`: a space follows it, and before it stand a few words.
  const found = /^(\p{L}[^:=\n]{0,79}?)\s*(?::(?=\s|$)|=)\s*(.*)$/su.exec(text)
  if (!found) return { key: '', value: text }
  const [, key = '', value = ''] = found
  return { key: key.trim(), value: value.trim() }
}

/** The section that a heading, or a label of plain text, begins. */
export type Section = 'overview' | 'tasks' | 'preferences' | 'constraints'

/** What a heading is called; undefined where it is none that means something here. */
export function sectionNamed(heading: string): Section | undefined {
  const words = heading
    .toLowerCase()
    .replace(/[^\p{L}]+/gu, ' ')
    .trim()
  return SECTIONS.get(words)
}

/** "Project: Notes" is called Notes. */
export function titleIn(heading: string): string | undefined {
  return heading.replace(/^project\s*[:–—-]\s*/i, '').trim() || undefined
}

const SECTIONS = new Map<string, Section>([
  ['overview', 'overview'],
  ['description', 'overview'],
  ['tasks', 'tasks'],
  ['task list', 'tasks'],
  ['todo', 'tasks'],
  ['to do', 'tasks'],
  ['preferences', 'preferences'],
  ['constraints', 'constraints'],
])
