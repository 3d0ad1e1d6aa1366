import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventOf } from '../../../src/domain/event.ts'
import { reportNotice } from '../../../src/human/notify/notices/report-notice.ts'

const NONE = { since: 0, until: 1, done: 0, failed: 0, unfinished: 0, waiting: 0, cost_usd: 0, titles: [] }
const made = (more: object) => ({ id: 1, body: { ...NONE, ...more } }) as unknown as EventOf<'report.made'>

test('a night in which a run was to begin and did not is told, though nothing was done in it', () => {
  assert.equal(reportNotice(made({})), undefined)
  assert.equal(reportNotice(made({ not_begun: 1 }))?.title, 'The night: 1 run did not begin')
  assert.equal(reportNotice(made({ done: 2, not_begun: 2 }))?.title, 'The night: 2 done, 2 runs did not begin')
})
