import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explainUnreadByDaemon, fillSecrets, namedSecrets } from '../../../src/domain/config/secret-references.ts'
import { defaultValues, nestValues } from '../../../src/domain/config/settings.ts'

test('a secret that a section of a webhook names is known to be used, and is filled in', async () => {
  const config = nestValues(defaultValues())
  const own = { secret: 'secret:sentry', project: '/p', title: 'x' }
  const webhooks = { ...config.webhooks, in: { sentry: own }, out: { ci: { url: 'https://ci', secret: 'secret:ci' } } }
  const named = namedSecrets({ ...config, webhooks })
  assert.deepEqual([named.get('sentry'), named.get('ci')], [['webhooks.in.sentry.secret'], ['webhooks.out.ci.secret']])
  const filled = await fillSecrets({ webhooks }, { read: async name => (name === 'ci' ? 'value' : undefined) })
  assert.deepEqual([filled.webhooks.in.sentry.secret, filled.webhooks.out.ci.secret], ['secret:sentry', 'value'])
  assert.equal(webhooks.out.ci.secret, 'secret:ci', 'the settings themselves are not changed')
})

test('a variable that a command does not hand to the daemon is explained by that', () => {
  assert.match(explainUnreadByDaemon('env:HOOK'), /^HOOK, .*begin with PCC_.*pcc secrets set NAME$/)
  assert.match(
    explainUnreadByDaemon('env:PCC_HOOK'),
    /^PCC_HOOK, which is not set here\. Set it, then: pcc daemon restart$/,
  )
  assert.match(explainUnreadByDaemon('secret:hook'), /^the secret hook/)
})
