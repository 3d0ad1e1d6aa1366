// Plain JavaScript in old syntax: it must run on the Node it complains about.
var major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  process.stderr.write(
    'This needs Node 24, and npm scripts found Node ' +
      process.versions.node +
      '.\nNode 24 comes with the development dependencies: run "npm ci" (without --ignore-scripts and --omit=dev), then try again.\n',
  )
  process.exit(1)
}
