import { declared, type Ecosystem, firstOfEach, usual } from '../found.ts'

/** Go. Modules of a `go.work` are tested one by one: `./...` ends where the next module begins. */
export const go: Ecosystem = async folder => {
  if (!folder.has('go.mod')) return undefined
  const golangci = folder.first(['.golangci.yml', '.golangci.yaml', '.golangci.toml', '.golangci.json'])
  return {
    ecosystem: 'go',
    manager: 'go',
    manager_from: 'go.mod',
    commands: firstOfEach([
      usual('setup', 'go mod download', 'go.mod'),
      usual('build', 'go build ./...', 'go.mod'),
      golangci !== undefined && declared('lint', 'golangci-lint run', golangci),
      usual('lint', 'go vet ./...', 'go.mod'),
      usual('test', 'go test ./...', 'go.mod'),
    ]),
  }
}
