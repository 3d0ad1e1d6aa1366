import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { QuotaView } from '../../../src/domain/quota.ts'
import { agentWorld } from '../agent-world.ts'
import { onTerminal } from '../pty.ts'

const SCENARIO = `
conversations:
  - name: night
    match: through the night
    turns:
      - text: I begin.
        tools: [{ Read: { file_path: "{{cwd}}/README.md" } }]
        rate_limits:
          five_hour: { utilization: 0.86, resets: +2h, status: allowed_warning, surpassed_threshold: 0.85 }
          seven_day: { utilization: 0.4, resets: +2d }
      - fault: { kind: limit, window: five_hour, resets: +20s, times: 1 }
      - text: I am back and done.
`

test('an attached terminal shows the warning, counts down to the reset in place and goes on showing the work', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO, 'oauth')
  const terminal = onTerminal(t, pcc, ['start', project, '--task', 'work through the night', '--session-name', 'night'])
  await terminal.see(/⚠ Limit: 86% of the 5-hour window is used, resets (\d{4}-\d\d-\d\d )?\d\d:\d\d/)
  await terminal.see(/⏳ Limit: /)
  await terminal.see(/Session waits for the limit to reset\. Goes on by itself at (\d{4}-\d\d-\d\d )?\d\d:\d\d\./)
  const [, first] = await terminal.see(/\nResuming in (00:\d\d)/)
  const [, second] = await terminal.see(/\nResuming in (00:\d\d)/)
  assert.ok((first ?? '') > (second ?? ''), `${first} then ${second}`)
  await terminal.see(/▶ Session goes on: /)
  await terminal.see(/I am back and done\./)
  assert.equal(await terminal.exit, 0)
})

test('where nobody looks, one line tells when it resumes, and the command waits for the end of the work', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO, 'oauth')
  const { code, stdout } = await pcc.run(['start', project, '--task', 'work through the night'])
  assert.equal(stdout.match(/^Resuming in /gm)?.length, 1, stdout)
  assert.match(stdout, /Resuming in 00:\d\d\n(.|\n)*▶ Session goes on: (.|\n)*I am back and done\./)
  assert.equal(code, 0)
})

test('without auto-resume the view is left with exit code 4, and pcc quota shows the closed gate', async t => {
  const scenario = SCENARIO.replace('resets: +20s', 'resets: +2h')
  const { pcc, project } = await agentWorld(t, scenario, 'oauth')
  const env = { PCC_SESSIONS_AUTO_RESUME: 'false' }
  const { code, stdout } = await pcc.run(['start', project, '--task', 'work through the night'], { env })
  assert.equal(code, 4, stdout)
  assert.doesNotMatch(stdout, /Resuming in/)
  const page = (await pcc.run(['quota'])).stdout
  assert.match(page, /^claude · 127\.0\.0\.1:\d+ · subscription token \(\w{6}\)\n {2}5-hour +█+ 100% {2}resets /)
  assert.match(page, /\n {2}7-day +█+░+ +50% /)
  assert.match(page, /\n {2}Level +critical\. No session starts/)
  assert.match(page, /\n {2}Gate +closed until \S+(.*\S)?: /)
  assert.match(page, /\n {2}Waiting +1 session\n/)
  const view = JSON.parse((await pcc.run(['quota', '--json'])).stdout) as QuotaView
  assert.deepEqual(
    view.accounts[0]?.windows.map(({ window, utilization, source }) => [window, utilization, source]),
    [
      ['five_hour', 1, 'vendor'],
      ['seven_day', 0.5, 'vendor'],
    ],
  )
})
