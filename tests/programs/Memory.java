import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/** Memory of every kind that a JVM gets from malloc: threads, collections, direct buffers, zlib. Prints checksums. */
public class Memory {
    private static long direct(int seed, int bytes) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(bytes);
        long zeros = 0;
        for (int i = 0; i < bytes; i += 4096) {
            zeros += buffer.get(i);
        }
        for (int i = 0; i + 4 <= bytes; i += 4) {
            buffer.putInt(i, seed * 31 + i);
        }
        CRC32 crc = new CRC32();
        crc.update(buffer.duplicate());
        return crc.getValue() + zeros;
    }

    private static long deflated(int seed) {
        byte[] data = new byte[1 << 18], out = new byte[1 << 19];
        for (int i = 0; i < data.length; i++) {
            data[i] = (byte) (i * seed >> 5);
        }
        Deflater deflater = new Deflater(9);
        deflater.setInput(data);
        deflater.finish();
        int length = deflater.deflate(out);
        deflater.end();
        return length;
    }

    private static long garbage(int seed) {
        TreeMap<Integer, String> map = new TreeMap<>();
        for (int i = 0; i < 40000; i++) {
            map.put((i * 7919 + seed) % 5000, "value " + i);
        }
        return map.hashCode();
    }

    private static String task(int number) {
        return number + " " + direct(number, 1 << (12 + number % 12)) + " " + deflated(number + 1) + " " + garbage(number);
    }

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        for (int round = 0; round < rounds; round++) {
            ExecutorService pool = Executors.newFixedThreadPool(8);
            List<Future<String>> results = new ArrayList<>();
            for (int i = 0; i < 24; i++) {
                int number = round * 24 + i;
                results.add(pool.submit((Callable<String>) () -> task(number)));
            }
            for (Future<String> result : results) {
                System.out.println(result.get());
            }
            pool.shutdown();
            System.gc();
        }
    }
}
