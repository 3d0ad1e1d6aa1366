import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OverlapPredictor } from '../../src/knowledge/overlap.ts'
import { indexedProject } from './index/an-index.ts'

test('tasks that speak of the same part of a project will probably change the same files, others will not', async t => {
  const filler = Array.from({ length: 12 }, (_, at) => [
    `src/other${at}/part${at}.ts`,
    `export const filler${at} = ${at}\n`,
  ])
  const { index } = indexedProject(t, {
    'src/invoices/total.ts': 'export function computeInvoiceTotal() { return roundCurrency(1) }\n',
    'src/invoices/print.ts': 'export function printInvoice() {}\n',
    'src/login/session.ts': 'export function openLoginSession() {}\n',
    ...Object.fromEntries(filler),
  })
  const about = (id: string, text: string, paths: string[] = []) => ({ id, text, paths })
  const task = about('t-1', 'Round the total of an invoice to whole cents')
  const others = [
    about('t-2', 'The printed invoice shows its total twice'),
    about('t-3', 'A login session ends after an hour'),
    about('t-4', 'Something else', ['src/invoices/total.ts']),
  ]
  const { answer } = await index.ask(file => new OverlapPredictor().predict(file, task, others), { freshMs: 60_000 })
  const [same, other, declared] = answer
  assert.ok(same && other && declared)
  assert.equal(same.path, 'src/invoices')
  assert.ok(same.probability > 2 * other.probability, `${same.probability} and ${other.probability}`)
  assert.ok(declared.probability > other.probability)
})
