import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Assessment } from '../../../src/domain/assessment.ts'
import { openClassifier } from '../../../src/policy/classify/classify.ts'

// By program, or program and verb: the verbs and flags that mean something to it.
const KNOWN = table('whole-words.json')
// The same for beginnings: their meaning does not depend on what follows.
const BEGINNINGS = table('beginnings.json')
const classifier = openClassifier({ realPath: path => path })

function table(name: string): Record<string, string> {
  return JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'))
}

function said(command: string): string {
  const request = { tool: 'Bash', input: { command }, project: '/proj', home: '/home/u' }
  const { reasons } = classifier.classify(request) as Assessment
  return reasons.map(({ risk, code }) => `${risk} ${code}`).join(', ')
}

for (const [program, words] of Object.entries(KNOWN)) {
  test(`a word that only begins or ends like one that ${program} knows is not taken for it`, () => {
    for (const word of words.split(' ')) {
      const known = said(`${program} ${word}`)
      assert.notEqual(said(`${program} ${word}x`), known, `${program} ${word}x`)
      assert.notEqual(said(`${program} x${word}`), known, `${program} x${word}`)
    }
  })
}

for (const [program, words] of Object.entries(BEGINNINGS)) {
  test(`a word that begins like one that ${program} knows is taken for it, one that ends so is not`, () => {
    for (const word of words.split(' ')) {
      const known = said(`${program} ${word}`)
      assert.equal(said(`${program} ${word}xyz`), known, `${program} ${word}xyz`)
      assert.notEqual(said(`${program} x${word}`), known, `${program} x${word}`)
    }
  })
}
