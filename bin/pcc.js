#!/usr/bin/env node
// Written in old syntax on purpose: an old Node must be able to read this far and say what it needs.
var major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  process.stderr.write(
    'pcc needs Node 24 or newer; this is Node ' +
      process.versions.node +
      '. Install Node 24 (https://nodejs.org), or run pcc by its path with a newer node.\n',
  )
  process.exit(1)
}
process.getBuiltinModule('node:module').enableCompileCache()
// The published package has no src; a checkout runs its source even when a build lies beside it.
var entry = process.argv[2] === 'hook' ? 'cli/hook-main' : 'cli/main'
var source = new URL(`../src/${entry}.ts`, import.meta.url)
var built = new URL(`../dist/${entry}.js`, import.meta.url)
import(process.getBuiltinModule('node:fs').existsSync(source) ? source.href : built.href)
