import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { LOCK_FILES, missingFromLock } from '../../scripts/complete-lock.ts'
import { ROOT } from './source-tree.ts'

type Packages = Parameters<typeof missingFromLock>[0]

for (const file of LOCK_FILES) {
  const { packages } = JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as { packages: Packages }

  test(`${file} pins no host: it installs from whatever registry the machine uses`, () => {
    const pinned = Object.entries(packages).filter(([, entry]) => 'resolved' in entry)
    assert.deepEqual(pinned, [])
    assert.ok(!existsSync(join(ROOT, dirname(file), '.npmrc')), 'no registry is set for everyone')
  })

  test(`${file} lists the packages of every platform, or npm ci refuses it (mend it with: node scripts/complete-lock.ts)`, () => {
    assert.deepEqual(missingFromLock(packages), {})
  })
}

test('a platform that npm left out of the lock file is listed as npm would have', () => {
  const lock: Packages = {
    'node_modules/tool': {
      version: '1.2.3',
      dev: true,
      optionalDependencies: {
        '@tool/linux-x64': '1.2.3',
        '@tool/linux-arm64-musl': '1.2.3',
        '@tool/darwin-x64': '1.2.3',
      },
    },
    'node_modules/@tool/linux-x64': { version: '1.2.3' },
  }
  assert.deepEqual(missingFromLock(lock), {
    'node_modules/@tool/linux-arm64-musl': {
      version: '1.2.3',
      dev: true,
      optional: true,
      os: ['linux'],
      cpu: ['arm64'],
      libc: ['musl'],
    },
    'node_modules/@tool/darwin-x64': { version: '1.2.3', dev: true, optional: true, os: ['darwin'], cpu: ['x64'] },
  })
})

test('every dependency is pinned to one version', () => {
  for (const file of LOCK_FILES) {
    const text = readFileSync(join(ROOT, dirname(file), 'package.json'), 'utf8')
    const { dependencies, devDependencies } = JSON.parse(text) as Record<string, Record<string, string>>
    const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([, version]) => !/^\d+\.\d+\.\d+$/.test(version),
    )
    assert.deepEqual(loose, [])
  }
})
