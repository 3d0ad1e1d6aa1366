import type { Sigil, SigilKind } from './sigil.ts'

/** A sigil as it was written. */
export interface Written {
  tag: SigilKind
  attributes: string
  body: string
}

/** Longer ones are cut: what an agent says is stored, shown and put into later prompts. */
const LONGEST = { reason: 2_000, notes: 4_000, title: 200, tag: 50, body: 4_000 }
const MOST_TAGS = 20

const MODEL = /^[A-Za-z0-9][\w.:/@[\]-]{0,99}$/
const TASK = /^(t-[0-9a-f]{6,})(?:\s*:\s*(.+))?$/s

/** What a written sigil says, or why it says nothing. */
export function sigilFrom({ tag, attributes, body }: Written): Sigil | { why: string } {
  const said = body.trim()
  if (tag !== 'knowledge' && attributes.trim() !== '') return { why: 'it has attributes, and should have none' }
  if (tag === 'verify-pass') return said === '' ? { kind: tag } : { why: 'it should be empty' }
  if (said === '') return { why: 'it is empty' }
  switch (tag) {
    case 'task-done':
    case 'task-failed':
      return aboutTask(tag, said)
    case 'promise':
      return promise(said)
    case 'next-model':
      return MODEL.test(said) ? { kind: tag, model: said } : { why: 'it names no model' }
    case 'verify-fail':
      return { kind: tag, reason: cut(said, LONGEST.reason) }
    case 'journal':
      return { kind: tag, notes: cut(said, LONGEST.notes) }
    case 'knowledge':
      return knowledge(attributes, said)
  }
}

/** The id alone, or with a reason behind a colon. */
function aboutTask(kind: 'task-done' | 'task-failed', said: string): Sigil | { why: string } {
  const [, task, reason] = TASK.exec(said) ?? []
  if (task === undefined) return { why: 'it names no task' }
  return kind === 'task-failed' && reason !== undefined
    ? { kind, task, reason: cut(reason, LONGEST.reason) }
    : { kind, task }
}

function promise(said: string): Sigil | { why: string } {
  if (said === 'COMPLETE') return { kind: 'promise', promise: 'COMPLETE' }
  const [, reason] = /^FAILURE(?:\s*:\s*(.+))?$/s.exec(said) ?? [undefined]
  if (!said.startsWith('FAILURE') || (said !== 'FAILURE' && reason === undefined)) {
    return { why: 'it is neither COMPLETE nor FAILURE' }
  }
  return { kind: 'promise', promise: 'FAILURE', ...(reason !== undefined && { reason: cut(reason, LONGEST.reason) }) }
}

function knowledge(attributes: string, body: string): Sigil | { why: string } {
  const given = new Map([...attributes.matchAll(/([a-z]+)\s*=\s*"([^"]*)"/g)].map(([, name, value]) => [name, value]))
  const title = given.get('title')?.trim()
  if (!title) return { why: 'it has no title' }
  const tags = (given.get('tags') ?? '')
    .split(',')
    .map(tag => cut(tag.trim(), LONGEST.tag))
    .filter(tag => tag !== '')
  return {
    kind: 'knowledge',
    title: cut(title, LONGEST.title),
    tags: [...new Set(tags)].slice(0, MOST_TAGS),
    body: cut(body, LONGEST.body),
  }
}

function cut(text: string, longest: number): string {
  const clean = text.replace(UNSEEN, '').toWellFormed().trim()
  return clean.length > longest ? `${clean.slice(0, longest - 1).toWellFormed()}…` : clean
}

/** Control characters but for tabs and ends of lines, and marks that turn the direction of text. */
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g
