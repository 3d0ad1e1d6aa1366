import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { secretId } from '../../src/base/ids.ts'
import { openGuard } from '../../src/base/process/guardian.ts'
import { sessionMarker } from '../../src/base/process/marker.ts'
import { commandMarkers } from '../../src/workspace/command/run-command.ts'
import { callerWith, LISTENING } from '../daemon/api/api-world.ts'
import { startDaemon } from '../daemon/daemon-process.ts'

/** What an agent could run that has found a key: it reads, writes and decides. Prints a status and a code for each. */
const CALL = `
const { request } = require('node:http')
const [address, key] = process.argv.slice(-2)
const ask = (method, path, body) => new Promise(resolve => {
  const headers = { authorization: 'Bearer ' + key, ...(body && { 'content-type': 'application/json' }) }
  const asked = request(address + '/api/v1' + path, { method, headers, agent: false }, reply => {
    let text = ''
    reply.on('data', piece => { text += piece })
    reply.on('end', () => resolve(reply.statusCode + ' ' + (JSON.parse(text).code ?? 'done')))
  })
  asked.on('error', error => resolve(String(error)))
  asked.end(body && JSON.stringify(body))
})
const all = [['GET', '/tasks'], ['POST', '/tasks', { project: '/tmp', title: 'x' }], ['POST', '/escalations/1/answer', { verdict: 'allow' }], ['GET', '/events']]
;(async () => { for (const one of all) process.stdout.write(await ask(...one) + '\\n') })()
`

test('a process of an agent or a gate is refused over TCP with the best of keys, and a program of the person is not', async t => {
  const daemon = await startDaemon(t, { env: LISTENING })
  const { address, secret, call } = await callerWith(daemon, { scope: 'admin' })
  const marker = sessionMarker(secretId(16))
  const markers = commandMarkers(daemon.paths.run)
  markers.note(marker.value)
  for (const line of ['exec "$0" -e "$1" "$2" "$3"', 'env -i "$0" -e "$1" "$2" "$3"']) {
    const args = ['-c', line, process.execPath, CALL, address, secret]
    const env = { PATH: '/usr/local/bin:/usr/bin:/bin' }
    const child = openGuard().spawn({ command: '/bin/bash', args, env, marker }, 'marker')
    t.after(() => child.end())
    const said = await text(child.stdout)
    await child.end()
    assert.deepEqual(said.trim().split('\n'), Array(4).fill('403 speaker_refused'), line)
  }
  assert.equal((await call('GET', '/tasks')).status, 200)
  const { body } = await daemon.call('GET', '/escalations')
  assert.ok(body.refused_speakers.length > 0, 'the person sees who tried')
})
