import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { callApi } from '../../daemon/api/api-world.ts'
import { GITHUB_SECRET, githubPayload, signedByGitHub } from '../../daemon/webhooks/github-messages.ts'
import { pccFor } from '../pcc.ts'

test('webhooks are shown with what is wrong, messages with what became of them, and a test event is sent', async t => {
  const got: string[] = []
  const server = createServer((request, response) => {
    got.push(String(request.headers['x-pcc-event']))
    response.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => void server.close())
  const pcc = pccFor(t)
  Object.assign(pcc.env, { PCC_API_PORT: '0', PCC_WEBHOOKS_GITHUB_SECRET: GITHUB_SECRET, PCC_CI_HOOK: GITHUB_SECRET })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const section = (name: string, more: string) =>
    `[webhooks.out.${name}]\nurl = "${url}"\nsecret = "env:PCC_CI_HOOK"\nevents = "task.noted"\n${more}\n`
  const home = pcc.env['PCC_HOME'] ?? ''
  mkdirSync(home, { recursive: true })
  writeFileSync(
    join(home, 'config.toml'),
    `${section('ci', 'private = "yes"')}${section('guarded', '')}[webhooks.in.own]\nsecret = "env:NOT_SET"\nproject = "/tmp"\ntitle = "x"\n`,
  )
  const on = await pcc.run(['daemon', 'api', 'on', '--json'])
  assert.equal(on.code, 0, on.stderr)
  const { address } = JSON.parse(on.stdout) as { address: string }
  const status = await pcc.run(['webhooks', 'status'])
  assert.equal(status.code, 1)
  assert.match(status.stdout, /^in {2}github {2}http:\/\/127\.0\.0\.1:\d+\/webhook\/github {2}ready$/m)
  assert.match(
    status.stdout,
    /^in {2}own .* does not work: it takes NOT_SET, which is not set here: .*begin with PCC_.*pcc secrets set/m,
  )
  assert.match((await pcc.run(['webhooks', 'test', 'ci'])).stdout, /^ci: sent$/m)
  const guarded = await pcc.run(['webhooks', 'test', 'guarded'])
  assert.deepEqual([guarded.code, guarded.stdout.includes('failed: refused: it is not https')], [1, true])
  assert.deepEqual(got, ['webhook.test'])
  assert.equal((await pcc.run(['webhooks', 'test', 'nobody'])).code, 2)

  assert.match((await pcc.run(['webhooks', 'list'])).stdout, /No message has come/)
  const payload = githubPayload('issues', 'labeled')
  const { headers, raw } = await signedByGitHub('issues', payload)
  const { pid } = JSON.parse((await pcc.run(['daemon', 'status', '--json'])).stdout) as { pid: number }
  const { status: answer } = await callApi(address, undefined, {
    ...{ method: 'POST', path: '//webhook/github', headers, raw },
  })
  process.kill(pid, 'SIGKILL')
  assert.equal(answer, 202, 'it is stored, so the next daemon has it')
  const shown = await pcc.run(['webhooks', 'show', '1'])
  assert.match(shown.stdout, /^Message 1 of github: issues \([\w-]+\)\n/)
  assert.match((await pcc.run(['webhooks', 'list', '--source', 'github', '--limit', '5'])).stdout, /issues/)
  assert.equal((await pcc.run(['webhooks', 'list', '--state', 'new'])).code, 2)
  assert.equal((await pcc.run(['webhooks', 'show', '99'])).code, 2)
  const again = await pcc.run(['webhooks', 'retry', '1'])
  assert.deepEqual([again.code, /^Message 1 is refused: no project is set for/.test(again.stdout)], [1, true])
  assert.match((await pcc.run(['webhooks', 'show', '1'])).stdout, /^Try it again: pcc webhooks retry 1$/m)
})
