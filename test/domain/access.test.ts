import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyName, mayReach, mayUse } from '../../src/domain/access.ts'
import { SCOPES } from '../../src/domain/option-values.ts'

test('each scope includes the ones before it and none after it', () => {
  const allowed = SCOPES.map(scope => SCOPES.filter(needed => mayUse({ scope }, needed)))
  assert.deepEqual(allowed, [
    ['read'],
    ['read', 'work'],
    ['read', 'work', 'decide'],
    ['read', 'work', 'decide', 'admin'],
  ])
})

test('a caller of one project reaches neither another one nor what belongs to none', () => {
  assert.equal(mayReach({ project: null }, null), true)
  assert.equal(mayReach({ project: '/a' }, '/a'), true)
  assert.equal(mayReach({ project: '/a' }, '/b'), false)
  assert.equal(mayReach({ project: '/a' }, null), false)
})

test('a key cannot have the name of the person, of pcc or of what decides by itself', () => {
  for (const name of ['ci', 'ci-2', 'night.runner', 'k-0af3d1']) assert.ok(KeyName.safeParse(name).success, name)
  for (const name of ['you', 'human', 'policy', 'brain', 'nobody', 'CI', '', ' ', 'a b', 'brain:rules', 'x'.repeat(41)])
    assert.ok(!KeyName.safeParse(name).success, name)
})
