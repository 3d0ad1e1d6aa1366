import * as z from 'zod'
import type { Answer, QuestionItem } from '../../../domain/session.ts'

const Choice = z.looseObject({ const: z.unknown(), title: z.string().optional(), description: z.string().optional() })
const Property = z.looseObject({
  type: z.string(),
  title: z.string().nullish(),
  description: z.string().nullish(),
  enum: z.array(z.string()).optional(),
  enumNames: z.array(z.string()).optional(),
  oneOf: z.array(Choice).optional(),
  items: z
    .looseObject({
      enum: z.array(z.string()).optional(),
      anyOf: z.array(Choice).optional(),
      oneOf: z.array(Choice).optional(),
    })
    .optional(),
})
type Property = z.infer<typeof Property>

/** A form that an agent wants filled in. */
export const Form = z.looseObject({
  mode: z.literal('form'),
  sessionId: z.string().optional(),
  toolCallId: z.string().optional(),
  message: z.string(),
  requestedSchema: z.looseObject({
    properties: z.record(z.string(), Property),
    required: z.array(z.string()).nullish(),
  }),
})
export type Form = z.infer<typeof Form>

interface Field {
  key: string
  property: Property
  item: QuestionItem
  choices: { label: string; description: string; value: unknown }[]
}

/** The fields of a form as questions. A field that only adds a note to another one is no question of its own. */
export function questionsOf(form: Form): Field[] {
  const { properties } = form.requestedSchema
  const fields = Object.entries(properties).filter(([key]) => !isNoteOf(key, properties))
  const isOnly = fields.length === 1
  return fields.map(([key, property]) => {
    const choices = choicesOf(property)
    const told = property.description || property.title || key
    return {
      key,
      property,
      choices,
      item: {
        question: isOnly ? form.message : told,
        header: property.title ?? '',
        multiSelect: property.type === 'array',
        options: choices.map(({ label, description }) => ({ label, description })),
      },
    }
  })
}

/** What is sent back for an answer. A required field without one makes it a refusal. */
export function filledIn(
  form: Form,
  fields: Field[],
  answer: Answer,
): { action: 'accept'; content: Record<string, unknown> } | { action: 'decline' } {
  if ('declined' in answer) return { action: 'decline' }
  const content: Record<string, unknown> = {}
  for (const field of fields) {
    const said = answer.answers[field.item.question]
    if (said !== undefined) Object.assign(content, valueFor(field, said, form.requestedSchema.properties))
  }
  const isWhole = (form.requestedSchema.required ?? []).every(key => key in content)
  return isWhole && Object.keys(content).length > 0 ? { action: 'accept', content } : { action: 'decline' }
}

function valueFor(
  field: Field,
  said: string | string[],
  properties: Form['requestedSchema']['properties'],
): Record<string, unknown> {
  const { key, property, choices } = field
  const known = (text: string) => choices.find(one => one.label === text)
  const words = [said].flat()
  const note = noteKey(key)
  const others = words.filter(word => !known(word)).join(', ')
  // What is none of the choices goes where the form takes free text.
  const free = choices.length > 0 && others && note in properties ? { [note]: others } : {}
  const chosen = words.flatMap(word => known(word)?.value ?? [])
  if (property.type === 'array') return { ...(chosen.length > 0 && { [key]: chosen }), ...free }
  if (choices.length > 0) return { ...(chosen.length > 0 && { [key]: chosen[0] }), ...free }
  const text = words.join(', ')
  if (property.type === 'number' || property.type === 'integer')
    return Number.isNaN(Number(text)) ? {} : { [key]: Number(text) }
  return { [key]: text }
}

function choicesOf(property: Property): Field['choices'] {
  const { type, oneOf, items, enum: plain, enumNames } = property
  const listed = oneOf ?? items?.anyOf ?? items?.oneOf
  if (listed) {
    return listed.map(({ const: value, title, description = '' }) => ({
      label: title ?? String(value),
      description,
      value,
    }))
  }
  const names = plain ?? items?.enum
  if (names) return names.map((value, at) => ({ label: enumNames?.[at] ?? value, description: '', value }))
  if (type !== 'boolean') return []
  return [
    { label: 'yes', description: '', value: true },
    { label: 'no', description: '', value: false },
  ]
}

/** Claude's adapter puts a free text beside every choice. */
function noteKey(key: string): string {
  return `${key}_custom`
}

function isNoteOf(key: string, properties: Record<string, Property>): boolean {
  return key.endsWith('_custom') && key.slice(0, -'_custom'.length) in properties
}
