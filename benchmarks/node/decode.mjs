// eventsource-parser behind a streaming TextDecoder, as a fetch client drives it.
//
// The file named on the command line holds the reads of one stream, each behind its length in four
// bytes, little-endian. Then, for each line on standard input, one line comes back:
//   events   the events, as JSON: an array of [type, data]
//   time     the nanoseconds of one pass

import {readFileSync} from 'node:fs'
import {createInterface} from 'node:readline'
import {createParser} from 'eventsource-parser'

// V8 compiles a hot function only after it has run for a while.
const WARM_UP_NS = 400_000_000n

function readChunks(path) {
  const file = readFileSync(path)
  const chunks = []
  for (let start = 0; start < file.length; ) {
    const end = start + 4 + file.readUInt32LE(start)
    chunks.push(new Uint8Array(file.subarray(start + 4, end)))
    start = end
  }
  return chunks
}

function decode(chunks, onEvent) {
  const decoder = new TextDecoder()
  const parser = createParser({onEvent})
  for (const chunk of chunks) {
    parser.feed(decoder.decode(chunk, {stream: true}))
  }
  parser.feed(decoder.decode())
}

let count = 0

function onePass(chunks) {
  const start = process.hrtime.bigint()
  decode(chunks, () => {
    count += 1
  })
  return process.hrtime.bigint() - start
}

const chunks = readChunks(process.argv[2])
let warm = false

for await (const command of createInterface({input: process.stdin})) {
  if (command === 'events') {
    const events = []
    decode(chunks, (event) => events.push([event.event || 'message', event.data]))
    console.log(JSON.stringify(events))
  } else {
    for (let spent = 0n; !warm && spent < WARM_UP_NS; ) {
      spent += onePass(chunks)
    }
    warm = true
    console.log(String(onePass(chunks)))
  }
}
