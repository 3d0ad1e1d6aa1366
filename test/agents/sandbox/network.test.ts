import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type TestContext, test } from 'node:test'
import { hostsFor, isListed, isOwn, ownPorts } from '../../../src/base/sandbox/network.ts'
import { gitProject } from '../../support/world.ts'
import { bubblewrap, inSandbox } from './a-sandbox.ts'
import { refusedHere } from './refused-here.ts'

const sandboxed = (title: string, body: (t: TestContext) => Promise<void>) =>
  test(title, 'program' in bubblewrap ? body : refusedHere)

/** A page on this machine. */
async function page(t: TestContext, text: string): Promise<number> {
  const server = createServer((_, reply) => void reply.end(text)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => void server.close())
  return (server.address() as AddressInfo).port
}

const fetching = (url: string) =>
  `"${process.execPath}" -e "fetch('${url}').then(r => r.text()).then(console.log, e => console.log('cut off', e.cause?.code ?? ''))"`
const asking = (url: string) =>
  `"${process.execPath}" -e "require('http').get({host:'127.0.0.1',port:3128,path:'${url}'}, r => { console.log(r.statusCode); r.pipe(process.stdout) })"`

sandboxed('a listed port of this machine is reached at its own address, another is not', async t => {
  const [listed, other] = [await page(t, 'listed'), await page(t, 'other')]
  const { sh } = await inSandbox(t, { project: gitProject(t), settings: { network: [`127.0.0.1:${listed}`] } })
  const { out } = await sh(`${fetching(`http://127.0.0.1:${listed}/`)}; ${fetching(`http://127.0.0.1:${other}/`)}`)
  assert.equal(out, 'listed\ncut off ECONNREFUSED')
})

sandboxed('the address that its environment names for the vendor is listed by itself', async t => {
  const port = await page(t, 'vendor')
  const env = { VENDOR_URL: `http://127.0.0.1:${port}/v1` }
  const { sh } = await inSandbox(t, { project: gitProject(t), env, needs: { addresses: ['VENDOR_URL'] } })
  const { out } = await sh(fetching(`http://127.0.0.1:${port}/`))
  assert.equal(out, 'vendor')
})

sandboxed('the proxy refuses what is not listed, says which setting it is, and tells the log', async t => {
  const port = await page(t, 'hidden')
  const { sh, said } = await inSandbox(t, { project: gitProject(t), settings: { network: ['example.com'] } })
  const { out } = await sh(asking(`http://127.0.0.1:${port}/`))
  assert.match(out, /^403\nThe sandbox does not let it reach 127\.0\.0\.1:\d+: see agents\.network\./)
  assert.deepEqual(said, [`the sandbox refused the network: 127.0.0.1:${port} (agents.network)`])
})

sandboxed('with a star the network is left as it is', async t => {
  const port = await page(t, 'open')
  const { sh } = await inSandbox(t, { project: gitProject(t), settings: { network: ['*'] } })
  assert.equal((await sh(fetching(`http://127.0.0.1:${port}/`))).out, 'open')
})

sandboxed('the exit code of the agent is its own, and a signal is told as one', async t => {
  const { sh, start } = await inSandbox(t, { project: gitProject(t) })
  assert.equal((await sh('exit 7')).code, 7)
  const [code, signal] = await once(start('/bin/sh', '-c', 'kill -9 $$'), 'exit')
  assert.ok(signal === 'SIGKILL' || code === 137, `${code} ${signal}`)
})

test('hosts are listed by name, below a name, by part of a name and with a port', () => {
  const listed = ['example.com', '*.below.org', '*-api.vendor.com', 'deep.net:8443', '127.0.0.1:4000']
  const may = (host: string, port = 443) => isListed({ host, port }, listed)
  for (const host of ['example.com', 'a.below.org', 'a.b.below.org', 'eu-api.vendor.com']) assert.ok(may(host), host)
  assert.ok(may('example.com', 80) && may('deep.net', 8443) && may('127.0.0.1', 4000))
  for (const host of [
    'evil-example.com',
    'example.com.evil.org',
    'below.org',
    'a.eu-api.vendor.com',
    'deep.net',
    '127.0.0.1',
  ])
    assert.ok(!may(host), host)
  assert.ok(!may('example.com', 22) && !isListed({ host: '127.0.0.1', port: 80 }, ['127.0.0.1']))
  assert.deepEqual(ownPorts(listed), [4000])
})

test('addresses of this machine and of a cloud’s metadata are its own', () => {
  for (const host of ['localhost', 'a.localhost', '127.9.9.9', '::1', '169.254.169.254', '0.0.0.0', 'fe80::1'])
    assert.ok(isOwn(host), host)
  for (const host of ['example.com', '192.0.2.7', '8.8.8.8']) assert.ok(!isOwn(host), host)
})

test('other clouds’ metadata and the addresses of this machine’s own interfaces are its own too', () => {
  const here = Object.values(networkInterfaces()).flatMap(list => (list ?? []).map(({ address }) => address))
  for (const host of ['fd00:ec2::254', '100.100.100.200', '192.0.0.192', ...here]) assert.ok(isOwn(host), host)
})

test('the vendor’s hosts and the address in the environment count beside the list', () => {
  const needs = { hosts: ['vendor.com'], addresses: ['A', 'B', 'C'] }
  const env = { A: 'https://gateway.example.com/x', B: 'no address' }
  assert.deepEqual(hostsFor(['one.org'], needs, env), ['one.org', 'vendor.com', 'gateway.example.com:443'])
})
