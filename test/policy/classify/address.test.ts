import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { judgeAddress, judgeNetworkWord } from '../../../src/policy/classify/address.ts'

function check(expected: string, addresses: string[]): void {
  for (const address of addresses) {
    const { code, risk } = judgeAddress(address)
    assert.equal(`${risk} ${code}`, expected, address)
  }
}

test('a page of the web is MEDIUM', () => {
  check('MEDIUM net.get', [
    'https://example.com',
    'http://example.com/a?b=c',
    'https://mylocal.example/',
    'https://110.1.1.1',
    'https://172.32.0.1',
    'https://172.15.0.1',
    'https://local.example.com',
    'https://xlocalhost.com',
    'https://11.0.0.1',
    'https://example.com/10.0.0.1',
  ])
})

test('what is no address, or not of the web, is told apart', () => {
  check('MEDIUM net.address', ['example.com', '', 'https://'])
  check('HIGH net.odd', [
    'file:///etc/passwd',
    'ftp://example.com',
    'httpsx://example.com',
    'xhttp://example.com',
    'data:text/plain,x',
    'javascript:1',
  ])
})

test('an address with a login in it is HIGH, half of one too', () => {
  check('HIGH net.login', ['https://a:b@example.com', 'https://a@example.com', 'https://:b@example.com'])
})

test('the place where a machine hands out its credentials is HIGH in every spelling', () => {
  check('HIGH net.metadata', [
    'http://169.254.169.254/latest',
    'http://metadata.google.internal/x',
    'http://METADATA.google.internal/',
    'http://100.100.100.200/',
    'http://[fd00:ec2::254]/',
    'http://2852039166/',
  ])
  check('MEDIUM net.get', ['http://localhost:3000', 'https://xmetadata.example.com', 'https://1.169.254.1'])
})

test('what is inside the network is told apart from the web', () => {
  check('MEDIUM net.inside', [
    'http://localhost:6379',
    'http://127.0.0.1',
    'http://10.1.2.3',
    'http://192.168.1.1',
    'http://172.16.0.1',
    'http://172.20.0.1',
    'http://172.29.0.1',
    'http://172.31.0.1',
    'http://[::1]/',
    'http://[fe80::1]/',
    'http://[fc00::1]/',
    'http://printer.local',
    'http://a.b.internal',
    'http://x.LAN',
    'http://0.0.0.0',
  ])
})

test('an address that carries much behind its path, or in a very long one, is told apart', () => {
  check('MEDIUM net.get', [
    `https://e.example/?${'x'.repeat(399)}`,
    `https://e.example/${'x'.repeat(799)}`,
    `https://e.example/?${'x'.repeat(198)}#${'y'.repeat(199)}`,
  ])
  check('MEDIUM net.long', [
    `https://e.example/${'x'.repeat(800)}`,
    `https://e.example/?${'x'.repeat(400)}`,
    `https://e.example/#${'x'.repeat(400)}`,
    `https://e.example/?${'x'.repeat(200)}#${'y'.repeat(200)}`,
  ])
})

test('an address with a deed in its path and a key is a button and no page', () => {
  check('MEDIUM net.change', [
    'https://api.host.example/deploy/srv-c0ffee?key=abc123',
    'https://ci.example/trigger/12?hook=x',
    'https://a.example/a/restart/web?code=1',
  ])
  check('MEDIUM net.get', ['https://a.example/deploy/guide-2', 'https://a.example/search?key=value'])
})

test('an address whose query holds a variable with its value, or code, carries data; a question does not', () => {
  const code = (query: string) => judgeAddress(`https://docs.example.net/search?${query}`).code
  assert.equal(code('q=STRIPE_SECRET_KEY%3Dfake_value'), 'net.data')
  assert.equal(code('lang=en&q=DB_PASS:+hunter2'), 'net.data')
  assert.equal(code('text=export%20const%20config%20%3D%20%7B%20port%3A%20Number(process.env.PORT)%20%7D'), 'net.data')
  for (const query of [
    'q=what+is+STRIPE_SECRET_KEY',
    'q=useState(',
    'q=a%3D%3Db&page=2',
    'q=NODE_ENV',
    'since=2026-01-01T00:00:00Z',
    'q=%7B%7D',
  ])
    assert.equal(code(query), 'net.get', query)
  assert.equal(judgeNetworkWord('https://e.example/?k=API_KEY%3Dabcdef')?.code, 'net.data')
})

test('names and numbers that lead to this machine or its network are known in every spelling', () => {
  check('MEDIUM net.inside', [
    'http://intranet/',
    'http://printer',
    'http://localhost./',
    'http://a.localhost/',
    'http://10.0.0.1.nip.io',
    'http://lvh.me/',
    'http://100.64.0.1',
    'http://100.79.0.1',
    'http://100.119.0.1',
    'http://100.127.0.1',
    'http://[::]/',
    'http://[fd12::1]/',
    'http://[fea0::1]/',
    'http://[::ffff:10.0.0.1]/',
    'http://0x7f.1/',
  ])
  check('MEDIUM net.get', [
    'http://100.63.0.1',
    'http://100.128.0.1',
    'http://xlvh.me',
    'http://lvh.me.example.com',
    'http://[2001:db8::1]/',
    'http://10.example.com',
    'http://localhost.example.com',
    'http://mynip.io',
    'http://internal.example.com',
  ])
  check('HIGH net.metadata', [
    'http://169.254.1.2/',
    'http://168.63.129.16/',
    'http://192.0.0.192/',
    'http://metadata/',
    'http://metadata.azure.com/',
    'http://instance-data/',
    'http://instance-data.ec2.internal/',
    'http://[::ffff:169.254.169.254]/',
    'http://metadata.google.internal./',
    'http://0xa9fea9fe/',
  ])
  check('MEDIUM net.get', [
    'http://metadata.example.com',
    'http://168.63.129.160',
    'http://metadata.google.internal.example.com',
  ])
})

test('a page of a cluster, or of a name that only a cluster knows, is inside the network', () => {
  check('MEDIUM net.inside', [
    'https://kubernetes.default.svc/api',
    'https://kubernetes/',
    'https://kubernetes.default/',
    'http://web.shop.svc',
    'http://web.shop.svc.cluster.local',
  ])
  check('MEDIUM net.get', ['https://kubernetes.io', 'https://svc.example.com'])
})

test('a word of curl or wget is judged by the host that it leads to, however that is written', () => {
  const rows: [string, string | undefined][] = [
    ['http://169.254.43518/', 'net.metadata'],
    ['169.254.43518', 'net.metadata'],
    ['http://[::ffff:a9fe:a9fe]/', 'net.metadata'],
    ['[::ffff:169.254.169.254]:80/x', 'net.metadata'],
    ['http://[::a9fe:a9fe]/', 'net.metadata'],
    ['http://[64:ff9b::a9fe:a9fe]/', 'net.metadata'],
    ['http://[2002:a9fe:a9fe::1]/', 'net.metadata'],
    ['http://[fd00:ec2::254]/', 'net.metadata'],
    ['fd00:ec2::254', 'net.metadata'],
    ['http://metadata/', 'net.metadata'],
    ['metadata:80/computeMetadata', 'net.metadata'],
    ['METADATA.google.internal./x', 'net.metadata'],
    ['http:///metadata.google.internal', 'net.metadata'],
    ['http://user@169.254.169.254/', 'net.metadata'],
    ['http://169.254.169.{254,253}/', 'net.metadata'],
    ['http://169.254.169.[250-254]/', 'net.address'],
    ['http://169.254.169.254.nip.io', 'net.metadata'],
    ['http://x-169-254-169-254.sslip.io', 'net.metadata'],
    ['http://a9fea9fe.nip.io', 'net.metadata'],
    ['http://[fe80::1%25eth0]/', 'net.inside'],
    ['https://kubernetes.default.svc', 'net.inside'],
    // Servers of the machine and of the person's own network are everyday.
    ['localhost:3000', undefined],
    ['http://127.0.0.1:8080/metadata', undefined],
    ['http://10.0.0.1', undefined],
    ['http://192.168.1.1', undefined],
    ['https://example.com/169.254.169.254', undefined],
    ['https://metadata.example.com', undefined],
    ['', undefined],
    ['/', undefined],
  ]
  for (const [word, code] of rows) assert.equal(judgeNetworkWord(word)?.code, code, word)
})

test('every spelling of a link-local address in numbers is found', () => {
  const spell = fc.constantFrom(
    (part: number) => String(part),
    (part: number) => `0x${part.toString(16)}`,
    (part: number) => `0X0${part.toString(16).toUpperCase()}`,
    (part: number) => `0${part.toString(8)}`,
    (part: number) => `000${part.toString(8)}`,
  )
  const byte = fc.integer({ min: 0, max: 255 })
  const how = fc.tuple(fc.integer({ min: 1, max: 4 }), fc.tuple(spell, spell, spell, spell))
  const frame = fc.constantFrom('', 'http://', 'HTTPS://', '//', 'ftp://', 'http://a:b@')
  fc.assert(
    fc.property(
      byte,
      byte,
      how,
      frame,
      fc.constantFrom('', '/', '.', ':80', '?x', '#y'),
      (c, d, [count, forms], start, end) => {
        const bytes = [169, 254, c, d]
        // The last number stands for all bytes that are left.
        const last = bytes.slice(count - 1).reduce((sum, part) => sum * 256 + part, 0)
        const host = [...bytes.slice(0, count - 1), last].map((part, at) => forms[at]?.(part)).join('.')
        assert.equal(judgeNetworkWord(`${start}${host}${end}`)?.code, 'net.metadata', `${start}${host}${end}`)
      },
    ),
    { numRuns: 500 },
  )
})
